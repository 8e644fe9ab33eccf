// SPDX-License-Identifier: Apache-2.0
// trace_profiler.cpp: records as a Chrome trace.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "csrc/codegen/support/error.h"
#include "csrc/codegen/support/error_table.h"
#include "csrc/runtime/process.h"
#include "csrc/runtime/profiler.h"

namespace wt::rt {
namespace {

void append_json(std::string& out, std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (u < 0x20) {
      out += "\\u00";
      out += kDigits[u >> 4];
      out += kDigits[u & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

/// One complete event. Process 0 is the host by thread, others are devices by stream.
void append_event(std::string& out, const ProfileRecord& r, std::string_view process,
                  uint64_t track, double begin_us, double duration_us) {
  out += R"({"ph":"X","cat":")";
  append(out, to_string(r.kind), R"(","name":)");
  append_json(out, r.name);
  out += R"(,"pid":)";
  append_json(out, process);
  append(out, R"(,"tid":)", track, R"(,"ts":)", begin_us, R"(,"dur":)", duration_us,
         R"(,"args":{"threads":)", r.threads, "}}");
}

class TraceProfiler : public Profiler {
 public:
  explicit TraceProfiler(std::string path) : path_(std::move(path)) {}
  void take(std::span<const ProfileRecord> records) override {
    records_.insert(records_.end(), records.begin(), records.end());
  }
  void flush() override {
    const int fd = open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    const bool written = fd >= 0 && write_all(fd, trace_json(records_));
    const int code = errno;
    if (fd >= 0) close(fd);
    if (!written) {
      throw DeviceError(coded("WT715"),
                        cat("could not write the trace to ", path_, ": ", std::strerror(code)),
                        code);
    }
  }

 private:
  std::string path_;
  std::vector<ProfileRecord> records_;
};

}  // namespace

std::string_view to_string(ProfileKind kind) {
  switch (kind) {
    case ProfileKind::kLaunch:
      return "launch";
    case ProfileKind::kCopy:
      return "copy";
    case ProfileKind::kFill:
      return "fill";
    case ProfileKind::kCompile:
      return "compile";
    case ProfileKind::kLoad:
      return "load";
    case ProfileKind::kPass:
      return "pass";
    case ProfileKind::kTape:
      return "tape";
    case ProfileKind::kUser:
      return "user";
  }
  return "unknown";
}

std::string trace_json(std::span<const ProfileRecord> records) {
  std::string out = R"({"displayTimeUnit":"ns","traceEvents":[)";
  bool first = true;
  for (const ProfileRecord& r : records) {
    const double begin = static_cast<double>(r.begin_ns) / 1e3;
    out += first ? "\n" : ",\n";
    first = false;
    append_event(out, r, "host", r.thread, begin, static_cast<double>(r.end_ns - r.begin_ns) / 1e3);
    if (r.device_ms < 0) continue;
    out += ",\n";
    // Devices have a clock of their own: the work is drawn from where it was launched.
    append_event(out, r, r.device, r.stream, begin, r.device_ms * 1e3);
  }
  out += "\n]}\n";
  return out;
}

std::shared_ptr<Profiler> make_trace_profiler(std::string path) {
  return std::make_shared<TraceProfiler>(std::move(path));
}

}  // namespace wt::rt
