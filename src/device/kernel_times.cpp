#include "device/kernel_times.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace lockstep {
namespace {

/// Name of a class without namespaces and template arguments; empty if `type` is not a class of this project,
/// or is a number type.
std::string_view name_of_class(std::string_view type) {
  const std::string_view qualified = type.substr(0, type.find_first_of("<,>"));
  const std::size_t last = qualified.rfind("::");
  if (last == std::string_view::npos || type.starts_with("(")) return {};
  const std::string_view name = qualified.substr(last + 2);
  return name == "Bfloat16" ? std::string_view() : name;
}

}  // namespace

thread_local constinit KernelTimes* KernelTimes::current = nullptr;

KernelTimes::KernelTimes(std::unique_ptr<StreamClock> clock) : clock_(std::move(clock)) { current = this; }
KernelTimes::~KernelTimes() { current = nullptr; }

void KernelTimes::begin_part(CUstream_st* stream) {
  in_program_ = true;
  if (stream_of_part_ != nullptr) return;
  stream_of_part_ = stream;
  ++parts_;
  clock_->hold(stream);
}

void KernelTimes::end_part() {
  if (stream_of_part_ == nullptr) return;
  begin(stream_of_part_, nothing_);
  end(stream_of_part_);
  clock_->release();
  stream_of_part_ = nullptr;
}

void KernelTimes::end_program() {
  end_part();
  in_program_ = false;
}

void KernelTimes::begin(CUstream_st* stream, const char* name) {
  if (in_program_) begin(stream, sums_[name]);
}
void KernelTimes::begin(CUstream_st* stream, KernelTime& sum) {
  launches_.push_back({&sum, stream, stream_of_part_ != nullptr ? parts_ : 0});
  clock_->mark(stream, 2 * launches_.size() - 2);
}
void KernelTimes::end(CUstream_st* stream) {
  if (in_program_) clock_->mark(stream, 2 * launches_.size() - 1);
}

void KernelTimes::collect() {
  std::map<CUstream_st*, std::size_t> last;  // by stream: index of its last launch
  for (std::size_t i = 0; i < launches_.size(); ++i) {
    const Launch& launch = launches_[i];
    launch.sum->seconds += clock_->seconds(2 * i, 2 * i + 1);
    ++launch.sum->launches;
    if (launch.sum == &nothing_ || launch.part == 0) continue;
    const auto [before, is_first] = last.try_emplace(launch.stream, i);
    if (!is_first && launches_[before->second].part == launch.part) {
      between_ += clock_->seconds(2 * before->second + 1, 2 * i);
    }
    before->second = i;
  }
  launches_.clear();
}

std::vector<KernelTime> KernelTimes::kernels() const {
  std::map<std::string, KernelTime> by_name;
  for (const auto& [given, sum] : sums_) {
    const std::string name = kernel_name(given.c_str());
    KernelTime& all = by_name[name];
    all.name = name;
    all.launches += sum.launches;
    all.seconds += sum.seconds;
  }
  std::vector<KernelTime> kernels;
  for (const auto& [name, sum] : by_name) kernels.push_back(sum);
  std::ranges::stable_sort(kernels, std::ranges::greater(), &KernelTime::seconds);
  return kernels;
}

double KernelTimes::of_points() const {
  return nothing_.launches == 0 ? 0.0 : nothing_.seconds / static_cast<double>(nothing_.launches);
}

std::string kernel_name(const char* type) {
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(type, nullptr, nullptr, nullptr),
                                                         &std::free);
  if (text == nullptr) return type;
  std::string name = text.get();
  constexpr std::string_view unnamed = "(anonymous namespace)::";
  for (std::size_t at = name.find(unnamed); at != std::string::npos; at = name.find(unnamed)) {
    name.erase(at, unnamed.size());
  }
  std::string short_name(name_of_class(name));
  if (short_name.empty()) return type;
  if (const std::size_t bracket = name.find('<'); bracket != std::string::npos) {
    const std::string_view of = name_of_class(std::string_view(name).substr(bracket + 1));
    if (!of.empty()) short_name.append(" ").append(of);
  }
  return short_name;
}

}  // namespace lockstep
