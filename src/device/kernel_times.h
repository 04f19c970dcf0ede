#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

struct CUstream_st;

namespace lockstep {

/// Points in time of the streams of a GPU.
class StreamClock {
 public:
  virtual ~StreamClock() = default;
  /// Makes `point` the time at which the stream's work so far is done. Points are reused.
  virtual void mark(CUstream_st* stream, std::size_t point) = 0;
  /// Seconds between two points, whose work is done.
  virtual double seconds(std::size_t from, std::size_t to) const = 0;
  /// Lets later work of the stream wait until release(), or for a short time: if a GPU has to wait for the
  /// host between kernels, the time between two points is the host's.
  virtual void hold(CUstream_st* stream) = 0;
  virtual void release() = 0;
};

/// Clock of the calling thread's GPU. Throws Error(internal) in a program without CUDA.
std::unique_ptr<StreamClock> make_stream_clock();

/// Launches of a kernel, of an operation of a library, or of copies: their number and seconds.
struct KernelTime {
  std::string name;
  std::uint64_t launches = 0;
  double seconds = 0.0;
};

/// Measures each launch of the calling thread's programs while it lives, by points before and after it. For
/// programs that run without graphs.
class KernelTimes {
 public:
  explicit KernelTimes(std::unique_ptr<StreamClock> clock);
  ~KernelTimes();
  KernelTimes(const KernelTimes&) = delete;
  KernelTimes& operator=(const KernelTimes&) = delete;

  /// The object that measures the launches of the calling thread; null: none.
  static KernelTimes* of_thread() { return current; }

  // Calls of devices and launches.
  /// Begins a part of a program, whose work waits until the part is complete, unless one has begun. Launches
  /// are measured from here to the end of the program.
  void begin_part(CUstream_st* stream);
  /// Ends the part, if one has begun.
  void end_part();
  void end_program();
  /// Begins a launch. `name`: of a kernel's type, as typeid returns it, or text.
  void begin(CUstream_st* stream, const char* name);
  void end(CUstream_st* stream);

  // Results.
  /// Adds the launches since the last call to the sums. Their work must be done.
  void collect();
  /// Sums by name, the longest time first.
  std::vector<KernelTime> kernels() const;
  /// Seconds between successive launches of a stream in a part.
  double between() const { return between_; }
  /// Seconds that the measurement itself adds to the time of each launch.
  double of_points() const;

 private:
  /// A launch between points 2 i and 2 i + 1, where i is its position.
  struct Launch {
    KernelTime* sum;
    CUstream_st* stream;
    std::size_t part;  ///< from 1; 0: between parts
  };
  void begin(CUstream_st* stream, KernelTime& sum);

  static thread_local constinit KernelTimes* current;

  std::unique_ptr<StreamClock> clock_;
  std::vector<Launch> launches_;
  bool in_program_ = false;
  CUstream_st* stream_of_part_ = nullptr;  ///< null: no part has begun
  std::size_t parts_ = 0;
  std::map<std::string, KernelTime> sums_;  ///< by the names that launches give
  KernelTime nothing_;                      ///< pairs of points without work between them
  double between_ = 0.0;
};

/// Calls `launch`, which adds work to the stream. If this thread measures launches, measures it as `name`.
template <class Launch>
void timed_launch(CUstream_st* stream, const char* name, const Launch& launch) {
  KernelTimes* const times = KernelTimes::of_thread();
  if (times == nullptr) return launch();
  times->begin(stream, name);
  launch();
  times->end(stream);
}

/// Short name of a kernel, from the name that typeid gives its type: that of the class and, of a template,
/// that of the first argument if it is a class but no number: "SumPacks UndoRelu". Other texts stay as they
/// are.
std::string kernel_name(const char* type);

}  // namespace lockstep
