#pragma once

#include <mpi.h>

#include <span>
#include <string>
#include <utility>

#include "lockstep/error.h"

namespace lockstep {

/// Throws an Error that names `call` and MPI's reason unless `code` is MPI_SUCCESS.
void check_mpi(int code, const char* call, Category category = Category::peer);

/// Name and version of the MPI library. May be called before MPI starts.
std::string mpi_library();

/// Whether MPI has been started in this process, even if it has ended since.
bool mpi_was_started();

/// Waits until `requests` are complete. Waiting yields the core.
void complete(std::span<MPI_Request> requests);
inline void complete(MPI_Request& request) { complete(std::span(&request, 1)); }

/// Calls MPI_Init_thread and MPI_Finalize. MPI_Finalize is collective, so it is skipped while an exception
/// unwinds: the other ranks may never call it.
class MpiSession {
 public:
  MpiSession(int* argc, char*** argv);
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;
};

/// Owner of an MPI communicator; errors on it are returned, not fatal.
class MpiGroup {
 public:
  MpiGroup() = default;
  explicit MpiGroup(MPI_Comm handle);
  MpiGroup(MpiGroup&& other) noexcept : handle_(std::exchange(other.handle_, MPI_COMM_NULL)) {}
  MpiGroup& operator=(MpiGroup&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~MpiGroup();

  static MpiGroup duplicate(MPI_Comm of);
  /// Group of the ranks with the same `color`, ordered by `key`, then by their rank in `of`.
  static MpiGroup split(MPI_Comm of, int color, int key);
  /// Group of the ranks that can share memory with this one, in the order of `of`.
  static MpiGroup split_by_host(MPI_Comm of);

  MPI_Comm get() const { return handle_; }
  int rank() const;
  int size() const;

 private:
  MPI_Comm handle_ = MPI_COMM_NULL;
};

}  // namespace lockstep
