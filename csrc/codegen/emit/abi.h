// SPDX-License-Identifier: Apache-2.0
// abi.h: the argument block that every emitted kernel entry receives. Plain C, read by the
// host, by the host compiler and by NVRTC, so layout is all that it says.
#pragma once

#ifdef __CUDACC_RTC__
typedef int int32_t;
typedef long long int64_t;
#else
#include <stdint.h>
#endif

// A kernel entry takes ONE block of bytes: WtLaunch, then the parameters in order, each at its
// natural C alignment. Scalars are themselves (bool 1 byte, f16 and bf16 2 bytes); vectors,
// matrices, quaternions, transforms and structs are C structs of their scalars; every array is a
// WtArray whatever its number of dimensions.
//
// CPU:  extern "C" void NAME(const void* args, int64_t begin, int64_t end, int64_t lane)
//       runs the linear threads [begin, end) of size * batch on worker `lane` of `lanes`.
// CUDA: extern "C" __global__ void NAME(const __grid_constant__ struct Args args)
//       a grid-stride loop over size * batch; lanes = gridDim.x * blockDim.x.
// Linear thread t has batch coordinate t / size and launch coordinates of t % size, last
// dimension fastest.

struct WtLaunch {
  int64_t dim[4];  // Unused dimensions are 1.
  int64_t size;    // Product of dim.
  int64_t batch;   // Hidden batch size, >= 1.
  int64_t lanes;   // Threads in flight: one scratch slot each.
};

struct WtArray {
  char* data;
  int64_t shape[4];      // Unused dimensions are 1.
  int64_t stride[4];     // Bytes; unused dimensions are 0.
  int64_t batch_stride;  // Bytes between batch entries; 0 when the array is shared.
  int32_t ndim;
  int32_t flags;
};
