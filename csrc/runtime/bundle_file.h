// SPDX-License-Identifier: Apache-2.0
// bundle_file.h: the file of a bundle: records under one checksum, for every kind of bundle.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "csrc/codegen/support/api.h"
#include "csrc/runtime/bundle.h"

namespace wt::rt {

/// What a record is and says, its kind first, and its bytes.
struct BundleRecord {
  std::vector<std::string> fields;
  std::string data;
};

/// Writes a temporary file and renames it. Throws DeviceError if the system refuses.
WT_API void write_bundle_file(const std::string& path, std::span<const BundleRecord> records);
/// Throws ArgumentValueError for a file that is no bundle or is damaged, DeviceError for one that
/// cannot be read.
WT_API std::vector<BundleRecord> read_bundle_file(const std::string& path);

/// The record of a binary, and back; its kind is "binary".
WT_API BundleRecord binary_record(const BundleEntry& entry);
WT_API BundleEntry entry_of(const BundleRecord& record);

/// Adds every binary of the file to the table of bundle.h; returns the other records.
WT_API std::vector<BundleRecord> load_bundle_file(const std::string& path);

}  // namespace wt::rt
