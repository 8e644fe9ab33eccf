// SPDX-License-Identifier: Apache-2.0
// hash.h: 128-bit content hash for cache keys and op names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "csrc/codegen/support/api.h"

namespace wt {

/// A content hash. Not cryptographic: it protects against accidents, not against an adversary.
/// The value is the same on every machine and in every process.
struct Hash128 {
  uint64_t hi = 0;
  uint64_t lo = 0;

  /// 32 lower-case hexadecimal digits.
  WT_API std::string hex() const;
  bool operator==(const Hash128&) const = default;
  auto operator<=>(const Hash128&) const = default;
};

/// Hashes a sequence of fields. Every text is preceded by its length, so ("ab", "c") and
/// ("a", "bc") differ.
class Hasher {
 public:
  Hasher& add(std::string_view text);
  Hasher& add(uint64_t word);
  Hash128 finish() const;

 private:
  void bytes(const unsigned char* data, size_t size);

  uint64_t a_ = 0x243f6a8885a308d3;  // Digits of pi.
  uint64_t b_ = 0x13198a2e03707344;
  uint64_t count_ = 0;
};

/// Hash of one text.
inline Hash128 hash128(std::string_view text) { return Hasher().add(text).finish(); }

}  // namespace wt

template <>
struct std::hash<wt::Hash128> {
  size_t operator()(const wt::Hash128& h) const noexcept { return h.lo; }
};
