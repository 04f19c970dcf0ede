#include "comm/world/mpi_handles.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <string>

#include "core/awaited_counter.h"

namespace lockstep {

void check_mpi(int code, const char* call, Category category) {
  if (code == MPI_SUCCESS) return;
  char reason[MPI_MAX_ERROR_STRING] = "unknown error";
  int length = 0;
  MPI_Error_string(code, reason, &length);
  throw Error(category, std::string(call) + ": " + reason);
}

std::string mpi_library() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  check_mpi(MPI_Get_library_version(text, &length), "MPI_Get_library_version");
  std::string line(text, std::strcspn(text, "\n"));  // MPICH also describes how it was built
  std::ranges::replace(line, '\t', ' ');
  return line;
}

bool mpi_was_started() {
  int started = 0;
  check_mpi(MPI_Initialized(&started), "MPI_Initialized");
  return started != 0;
}

void complete(std::span<MPI_Request> requests) {
  int done = 0;
  for (Polling polling;; polling.pause()) {
    check_mpi(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE),
              "MPI_Testall");
    if (done != 0) return;
  }
}

MpiSession::MpiSession(int* argc, char*** argv) {
  int provided = MPI_THREAD_SINGLE;
  const int code = MPI_Init_thread(argc, argv, MPI_THREAD_SERIALIZED, &provided);
  check_mpi(code, "MPI_Init_thread", Category::resource);
  if (provided < MPI_THREAD_SERIALIZED) {
    throw Error(Category::resource, "this MPI library does not support calls from changing threads");
  }
}

MpiSession::~MpiSession() {
  if (std::uncaught_exceptions() == 0) MPI_Finalize();
}

MpiGroup::MpiGroup(MPI_Comm handle) : handle_(handle) {
  check_mpi(MPI_Comm_set_errhandler(handle_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
}

MpiGroup::~MpiGroup() {
  if (handle_ != MPI_COMM_NULL && std::uncaught_exceptions() == 0) MPI_Comm_free(&handle_);
}

MpiGroup MpiGroup::duplicate(MPI_Comm of) {
  MPI_Comm handle = MPI_COMM_NULL;
  check_mpi(MPI_Comm_dup(of, &handle), "MPI_Comm_dup");
  return MpiGroup(handle);
}

MpiGroup MpiGroup::split(MPI_Comm of, int color, int key) {
  MPI_Comm handle = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split(of, color, key, &handle), "MPI_Comm_split");
  return MpiGroup(handle);
}

MpiGroup MpiGroup::split_by_host(MPI_Comm of) {
  MPI_Comm handle = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(of, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &handle), "MPI_Comm_split_type");
  return MpiGroup(handle);
}

int MpiGroup::rank() const {
  int rank = 0;
  check_mpi(MPI_Comm_rank(handle_, &rank), "MPI_Comm_rank");
  return rank;
}

int MpiGroup::size() const {
  int size = 0;
  check_mpi(MPI_Comm_size(handle_, &size), "MPI_Comm_size");
  return size;
}

}  // namespace lockstep
