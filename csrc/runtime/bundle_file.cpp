// SPDX-License-Identifier: Apache-2.0
// bundle_file.cpp: writes and reads bundle files.
//
//   warp_torch bundle 1 <checksum of all that follows>\n
//   then each record: <number of fields> <length of each> <length of the data>\n fields data
#include "csrc/runtime/bundle_file.h"

#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "csrc/codegen/support/error.h"
#include "csrc/codegen/support/error_table.h"
#include "csrc/codegen/support/hash.h"

namespace wt::rt {
namespace {

constexpr std::string_view kMagic = "warp_torch bundle 1 ";
constexpr size_t kChecksum = 32;
constexpr size_t kHead = kMagic.size() + kChecksum + 1;

constexpr std::pair<BinaryKind, std::string_view> kKinds[] = {{BinaryKind::kSharedObject, "object"},
                                                              {BinaryKind::kCubin, "cubin"},
                                                              {BinaryKind::kPtx, "ptx"}};

/// Takes numbers and texts from the front of what is left of a file.
class Reader {
 public:
  Reader(const std::string& path, std::string_view text) : path_(path), rest_(text) {}

  bool done() const { return rest_.empty(); }

  size_t number() {
    size_t n = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), n);
    if (error != std::errc() || end == rest_.data() + rest_.size()) damaged();
    rest_.remove_prefix(size_t(end - rest_.data()) + 1);
    return n;
  }

  std::string take(size_t size) {
    if (size > rest_.size()) damaged();
    std::string out(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return out;
  }

  [[noreturn]] void damaged() const {
    throw ArgumentValueError(coded("WT720"), cat("bundle ", path_, " is damaged; make it again"));
  }

 private:
  const std::string& path_;
  std::string_view rest_;
};

std::string body_of(std::span<const BundleRecord> records) {
  std::string out;
  for (const BundleRecord& r : records) {
    append(out, r.fields.size(), " ");
    for (const std::string& field : r.fields) append(out, field.size(), " ");
    append(out, r.data.size(), "\n");
    for (const std::string& field : r.fields) out += field;
    out += r.data;
  }
  return out;
}

}  // namespace

void write_bundle_file(const std::string& path, std::span<const BundleRecord> records) {
  const std::string body = body_of(records);
  const std::string partial = cat(path, ".", getpid(), ".partial");
  std::ofstream out(partial, std::ios::binary);
  out << kMagic << hash128(body).hex() << '\n' << body;
  out.close();
  if (out && std::rename(partial.c_str(), path.c_str()) == 0) return;
  std::remove(partial.c_str());
  throw DeviceError(coded("WT715"), cat("bundle ", path,
                                        " could not be written; is its folder there, and is there "
                                        "space?"));
}

std::vector<BundleRecord> read_bundle_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in.is_open() || in.bad())
    throw DeviceError(coded("WT720"), cat("bundle ", path, " could not be read"));
  if (!text.starts_with(kMagic))
    throw ArgumentValueError(coded("WT720"),
                             cat(path, " is no bundle of this version of warp_torch"));
  const std::string_view body = std::string_view(text).substr(std::min(kHead, text.size()));
  Reader reader(path, body);
  if (text.substr(kMagic.size(), kChecksum) != hash128(body).hex()) reader.damaged();
  std::vector<BundleRecord> records;
  while (!reader.done()) {
    std::vector<size_t> sizes(reader.number() + 1);
    for (size_t& size : sizes) size = reader.number();
    BundleRecord& r = records.emplace_back();
    for (size_t i = 0; i + 1 < sizes.size(); ++i) r.fields.push_back(reader.take(sizes[i]));
    r.data = reader.take(sizes.back());
  }
  return records;
}

BundleRecord binary_record(const BundleEntry& entry) {
  std::string_view kind;
  for (const auto& [k, name] : kKinds)
    if (k == entry.binary.kind) kind = name;
  return {{"binary", entry.key, entry.binary.name, std::string(kind), entry.binary.arch},
          entry.binary.data};
}

BundleEntry entry_of(const BundleRecord& record) {
  const std::vector<std::string>& f = record.fields;
  if (f.size() == 5)
    for (const auto& [kind, name] : kKinds)
      if (f[3] == name)
        return {f[1], {.kind = kind, .name = f[2], .arch = f[4], .data = record.data}};
  throw ArgumentValueError(coded("WT720"),
                           "a bundle holds a binary of an unknown kind; make it again");
}

std::vector<BundleRecord> load_bundle_file(const std::string& path) {
  std::vector<BundleRecord> others;
  for (BundleRecord& record : read_bundle_file(path)) {
    if (!record.fields.empty() && record.fields.front() == "binary") {
      add_bundled(entry_of(record));
    } else {
      others.push_back(std::move(record));
    }
  }
  return others;
}

}  // namespace wt::rt
