#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

struct CUstream_st;

namespace lockstep {

/// Records points in time in the streams of a GPU.
class StreamClock {
 public:
  virtual ~StreamClock() = default;
  /// Sets `point` to the time at which the stream's work so far is done. A point can be set again.
  virtual void mark(CUstream_st* stream, std::size_t point) = 0;
  /// Seconds between two points. The work before both points must be done.
  virtual double seconds(std::size_t from, std::size_t to) const = 0;
  /// Makes later work of the stream wait until release(), but only for a short time. If the GPU instead had
  /// to wait for the host between kernels, the time between two points would be the host's.
  virtual void hold(CUstream_st* stream) = 0;
  virtual void release() = 0;
};

/// Clock of the calling thread's GPU. Throws Error(internal) in a program without CUDA.
std::unique_ptr<StreamClock> make_stream_clock();

/// Number and total seconds of the launches of a kernel, a library operation or a copy.
struct KernelTime {
  std::string name;
  std::uint64_t launches = 0;
  double seconds = 0.0;
};

/// While the object exists, measures each launch of the calling thread's programs by a point before and a
/// point after the launch. For programs that run without graphs.
class KernelTimes {
 public:
  explicit KernelTimes(std::unique_ptr<StreamClock> clock);
  ~KernelTimes();
  KernelTimes(const KernelTimes&) = delete;
  KernelTimes& operator=(const KernelTimes&) = delete;

  /// The object that measures the launches of the calling thread; null: none.
  static KernelTimes* of_thread() { return current; }

  // Called by devices and launches.
  /// Begins a part of a program, unless a part has begun already. The part's work waits until all of it is
  /// submitted. Launches are measured from here to the end of the program.
  void begin_part(CUstream_st* stream);
  /// Ends the part if one has begun.
  void end_part();
  void end_program();
  /// Begins a launch. `name`: name of the kernel's type, as typeid returns it, or any other text.
  void begin(CUstream_st* stream, const char* name);
  void end(CUstream_st* stream);

  // Results.
  /// Adds the launches since the last collect() to the sums. The work of these launches must be done.
  void collect();
  /// Total time of each name, the longest first.
  std::vector<KernelTime> kernels() const;
  /// Total seconds between successive launches of a stream within a part.
  double between() const { return between_; }
  /// Seconds that the measurement itself adds to the time of each launch.
  double of_points() const;

 private:
  /// A launch between points 2 i and 2 i + 1, where i is its index in launches_.
  struct Launch {
    KernelTime* sum;
    CUstream_st* stream;
    std::size_t part;  ///< number of the part, from 1; 0: between parts
  };
  void begin(CUstream_st* stream, KernelTime& sum);

  static thread_local constinit KernelTimes* current;

  std::unique_ptr<StreamClock> clock_;
  std::vector<Launch> launches_;
  bool in_program_ = false;
  CUstream_st* stream_of_part_ = nullptr;  ///< null: no part has begun
  std::size_t parts_ = 0;
  std::map<std::string, KernelTime> sums_;  ///< by the name passed to begin()
  KernelTime nothing_;                      ///< pairs of points without work between them
  double between_ = 0.0;
};

/// Calls `launch`, which adds work to the stream. If this thread measures launches, measures this one as
/// `name`.
template <class Launch>
void timed_launch(CUstream_st* stream, const char* name, const Launch& launch) {
  KernelTimes* const times = KernelTimes::of_thread();
  if (times == nullptr) return launch();
  times->begin(stream, name);
  launch();
  times->end(stream);
}

/// Short name of a kernel, computed from the typeid name of its type: the class name and, for a template, the
/// name of the first argument if that is a class but not a number type: "SumPacks UndoRelu". Returns other
/// texts unchanged.
std::string kernel_name(const char* type);

}  // namespace lockstep
