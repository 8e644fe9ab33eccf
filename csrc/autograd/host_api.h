// SPDX-License-Identifier: Apache-2.0
// host_api.h: the C table through which the torch library runs kernels. It is all that the two
// share: the torch library links nothing of ours, so one build of it serves every Python.
#pragma once

#include <stdint.h>

#include "csrc/codegen/emit/abi.h"

#define WT_HOST_API_VERSION 4

extern "C" {

/// One step of a stack machine over integers: op_plan.h, ShapeStep.
struct WtShapeStep {
  int32_t code;
  int32_t unused;
  int64_t a, b;
};
struct WtShape {
  const WtShapeStep* steps;
  int64_t count;
};

/// Which values of an argument backward needs.
enum WtAdjointReads {
  WT_READS_NOTHING = 0,
  WT_READS_ARGUMENT = 1,
  WT_READS_RESULT = 2,  ///< what the launch left in it
};

/// One kernel parameter as the op sees it: op_plan.h, OpParam. `scalar` is ir::Scalar's number.
struct WtOpParam {
  const char* name;
  int32_t role;
  int32_t scalar;
  int64_t item_bytes;  ///< of one element, all components
  int32_t ndim;        ///< of the kernel's array; 0 for a number
  int32_t component_dims;
  int64_t components[2];
  int32_t value;     ///< the tensor has the components alone
  int32_t optional;  ///< the argument may be missing
  int32_t differentiable;
  int32_t needs_zero;
  int32_t adjoint_reads;  ///< backward needs the values of this argument: WtAdjointReads
  int32_t shape_count;
  const WtShape* shape;
};
struct WtDimCheck {
  int32_t param, axis, d;
};
struct WtOp {
  void* plan;
  const char* name;  ///< kernel name
  const char* key;   ///< content hash; part of the op's name
  int32_t param_count;
  const WtOpParam* params;
  int32_t dim_count;
  const WtShape* dim;
  int32_t check_count;
  const WtDimCheck* checks;
  int32_t has_tape;
  WtShape tape_bytes;   ///< size of the tape, when there is one, of all batch entries
  const char* refusal;  ///< why there is no adjoint; null if there is one
};

/// A loop of the caller's threads: thread_pool.h, ParallelFor.
struct WtParallelFor {
  void (*run)(int64_t begin, int64_t end, void (*body)(void*, int64_t, int64_t), void* context);
  int (*threads)(void);
};

/// One run. Arrays, numbers, mask and derivatives have one entry a parameter.
struct WtRun {
  const WtArray* arrays;
  const double* floats;
  const int64_t* ints;
  int64_t dim[4];
  int64_t batch;
  int32_t cuda;           ///< 0: the CPU
  int32_t device;         ///< CUDA ordinal
  int32_t deterministic;  ///< sums must not depend on the order of threads
  void* stream;
  const WtParallelFor* parallel_for;  ///< CPU; may be null
  const uint8_t* mask;                ///< adjoint: which carry derivatives
  const WtArray* derivatives;
  void* tape;
  void* scratch;
  int64_t scratch_bytes;
};

/// What adjoint() does to the derivative of a parameter.
enum WtAdjointFlag {
  WT_OVERWRITES = 1,  ///< stores every element that a thread has, so it need not start at zero
  WT_CHANGES = 2,     ///< writes to it: a cotangent must be a copy
};

struct WtHostApi {
  uint32_t version;
  /// Text of the calling thread's last failure. Functions below return 0 on success, else 1 wrong
  /// type, 2 wrong value, 3 gradient refused, 4 device, 5 out of memory, 6 bug.
  const char* (*last_error)(void);
  int (*forward)(void* plan, const WtRun* run);
  int (*augmented)(void* plan, const WtRun* run);
  /// Looks at a run with dim and mask set: bytes of loop history that adjoint() wants in
  /// run->scratch, and the flags below, one entry a parameter.
  int (*plan_adjoint)(void* plan, const WtRun* run, int64_t* scratch_bytes, uint8_t* flags);
  int (*adjoint)(void* plan, const WtRun* run);
  /// The op of the tangent kernel (OpPlan::tangent), made at the first call; null on failure. Lives
  /// as long as the process.
  const WtOp* (*tangent_op)(void* plan);
};

}  // extern "C"
