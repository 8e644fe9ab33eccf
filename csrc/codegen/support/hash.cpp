// SPDX-License-Identifier: Apache-2.0
// hash.cpp: two 64-bit lanes, each mixed by a folded 64x64 -> 128 bit product.
#include "csrc/codegen/support/hash.h"

#include <bit>
#include <cstring>

namespace wt {
namespace {

constexpr uint64_t kOddA = 0xa4093822299f31d1;  // Digits of pi, made odd.
constexpr uint64_t kOddB = 0x082efa98ec4e6c89;
constexpr uint64_t kOddC = 0x452821e638d01377;

/// Both halves of the product folded together. The operands are mixed back in by the callers,
/// because a zero operand would otherwise lose the other one.
uint64_t fold(uint64_t x, uint64_t y) {
  __extension__ using Wide = unsigned __int128;
  const Wide p = static_cast<Wide>(x) * y;
  return static_cast<uint64_t>(p) ^ static_cast<uint64_t>(p >> 64);
}

/// Little-endian whatever the machine, so that keys can be shared.
uint64_t load_word(const unsigned char* p, size_t n) {
  uint64_t w = 0;
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(&w, p, n);
    return w;
  }
  for (size_t i = 0; i < n; ++i) w |= static_cast<uint64_t>(p[i]) << (8 * i);
  return w;
}

}  // namespace

std::string Hash128::hex() const {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out(32, '0');
  for (int i = 0; i < 16; ++i) {
    out[15 - i] = kDigits[(hi >> (4 * i)) & 15];
    out[31 - i] = kDigits[(lo >> (4 * i)) & 15];
  }
  return out;
}

Hasher& Hasher::add(uint64_t word) {
  ++count_;
  a_ = std::rotl(a_, 23) + word + fold(a_ ^ word, kOddA);
  b_ = std::rotl(b_, 41) ^ (word * kOddC) ^ fold(b_ + std::rotl(word, 32), kOddB);
  return *this;
}

Hasher& Hasher::add(std::string_view text) {
  add(static_cast<uint64_t>(text.size()));
  bytes(reinterpret_cast<const unsigned char*>(text.data()), text.size());
  return *this;
}

void Hasher::bytes(const unsigned char* data, size_t size) {
  for (; size >= 8; data += 8, size -= 8) add(load_word(data, 8));
  if (size > 0) add(load_word(data, size));
}

Hash128 Hasher::finish() const {
  const uint64_t x = fold(a_ ^ count_, kOddA) ^ b_;
  const uint64_t y = fold(b_ + count_, kOddB) ^ std::rotl(a_, 17);
  return {.hi = fold(x, kOddC) ^ y, .lo = fold(y ^ kOddB, kOddA) + std::rotl(x, 31)};
}

}  // namespace wt
