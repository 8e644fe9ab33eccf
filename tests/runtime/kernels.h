// SPDX-License-Identifier: Apache-2.0
// kernels.h: hand-written kernels that obey codegen/emit/abi.h, one text per dialect.
#pragma once

#include <string>

#include "csrc/codegen/emit/abi.h"

namespace wt::rt::testing {

/// Parameters of `axpy`: out = k * in + out, for the element at each thread.
struct AxpyArgs {
  WtLaunch launch;
  WtArray in;
  WtArray out;
  float k;
};

/// Parameters of `touch`: each thread adds 1 to its element of `count` and writes its lane.
struct TouchArgs {
  WtLaunch launch;
  WtArray count;
  WtArray lane;
};

inline const std::string kAbiText = R"(
#ifdef __CUDACC_RTC__
typedef int int32_t; typedef long long int64_t;
#else
#include <stdint.h>
#endif
struct WtLaunch { int64_t dim[4]; int64_t size; int64_t batch; int64_t lanes; };
struct WtArray { char* data; int64_t shape[4]; int64_t stride[4]; int64_t batch_stride;
                 int32_t ndim; int32_t flags; };
struct AxpyArgs { WtLaunch launch; WtArray in; WtArray out; float k; };
struct TouchArgs { WtLaunch launch; WtArray count; WtArray lane; };
#ifdef __CUDACC_RTC__
#define WT_INLINE __device__ static inline
#else
#define WT_INLINE static inline
#endif
WT_INLINE char* at(const WtArray& a, const WtLaunch& l, int64_t t) {
  int64_t b = t / l.size, i = t % l.size;
  return a.data + b * a.batch_stride + i * a.stride[0];
}
)";

inline const std::string kCpuKernels = kAbiText + R"(
extern "C" void axpy(const void* args, int64_t begin, int64_t end, int64_t) {
  const AxpyArgs& a = *(const AxpyArgs*)args;
  for (int64_t t = begin; t < end; ++t) {
    float& y = *(float*)at(a.out, a.launch, t);
    y = a.k * *(const float*)at(a.in, a.launch, t) + y;
  }
}
extern "C" void touch(const void* args, int64_t begin, int64_t end, int64_t lane) {
  const TouchArgs& a = *(const TouchArgs*)args;
  for (int64_t t = begin; t < end; ++t) {
    *(int32_t*)at(a.count, a.launch, t) += 1;
    *(int32_t*)at(a.lane, a.launch, t) = (int32_t)lane;
  }
}
)";

inline const std::string kCudaKernels = kAbiText + R"(
#define WT_GRID_LOOP(l) \
  for (int64_t t = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; t < l.size * l.batch; \
       t += (int64_t)gridDim.x * blockDim.x)
extern "C" __global__ void axpy(const __grid_constant__ AxpyArgs a) {
  WT_GRID_LOOP(a.launch) {
    float& y = *(float*)at(a.out, a.launch, t);
    y = a.k * *(const float*)at(a.in, a.launch, t) + y;
  }
}
extern "C" __global__ void touch(const __grid_constant__ TouchArgs a) {
  WT_GRID_LOOP(a.launch) {
    *(int32_t*)at(a.count, a.launch, t) += 1;
    *(int32_t*)at(a.lane, a.launch, t) = blockIdx.x * blockDim.x + threadIdx.x;
  }
}
)";

}  // namespace wt::rt::testing
