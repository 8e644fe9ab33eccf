// SPDX-License-Identifier: Apache-2.0
// wide.h: elements of several neighbouring threads, moved in accesses of one chunk each.
R"wt(
template <class Chunk, int kChunks>
struct alignas(16) wt_wide {
  char data[sizeof(Chunk) * kChunks];
  __device__ __forceinline__ void read(const char* from) {
#pragma unroll
    for (int k = 0; k < kChunks; ++k) ((Chunk*)data)[k] = ((const Chunk*)from)[k];
  }
  __device__ __forceinline__ void write(char* to) const {
#pragma unroll
    for (int k = 0; k < kChunks; ++k) ((Chunk*)to)[k] = ((const Chunk*)data)[k];
  }
};
)wt"
