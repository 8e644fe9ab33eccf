// SPDX-License-Identifier: Apache-2.0
// wide.h: the elements of a group of neighbouring threads. A warp moves those of its groups in
// accesses that lie next to each other; where a group has several, they change hands in shared
// memory.
R"wt(
template <class Chunk, int kChunks>
struct alignas(16) wt_wide {
  char data[sizeof(Chunk) * kChunks];
  __device__ __forceinline__ static Chunk* exchange() {
    __shared__ Chunk all[256 * (kChunks > 1 ? kChunks : 1)];
    return all + (threadIdx.x & ~31u) * kChunks;
  }
  // The group's place in memory. All threads of a warp call it, for neighbouring groups.
  __device__ __forceinline__ void read(const char* from) {
    Chunk* own = (Chunk*)data;
    if (kChunks == 1) {
      own[0] = *(const Chunk*)from;
      return;
    }
    const int lane = threadIdx.x & 31;
    const Chunk* all = (const Chunk*)from - lane * kChunks;
    Chunk* shared = exchange();
#pragma unroll
    for (int k = 0; k < kChunks; ++k) shared[k * 32 + lane] = all[k * 32 + lane];
    __syncwarp();
#pragma unroll
    for (int k = 0; k < kChunks; ++k) own[k] = shared[lane * kChunks + k];
    __syncwarp();
  }
  __device__ __forceinline__ void write(char* to) const {
    const Chunk* own = (const Chunk*)data;
    if (kChunks == 1) {
      *(Chunk*)to = own[0];
      return;
    }
    const int lane = threadIdx.x & 31;
    Chunk* all = (Chunk*)to - lane * kChunks;
    Chunk* shared = exchange();
#pragma unroll
    for (int k = 0; k < kChunks; ++k) shared[lane * kChunks + k] = own[k];
    __syncwarp();
#pragma unroll
    for (int k = 0; k < kChunks; ++k) all[k * 32 + lane] = shared[k * 32 + lane];
    __syncwarp();
  }
};
)wt"
