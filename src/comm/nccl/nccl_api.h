#pragma once

#include <nccl.h>

#include <string>

namespace lockstep {

/// The functions of NCCL that lockstep calls. Tests replace them.
struct NcclApi {
  decltype(&ncclGetVersion) get_version;
  decltype(&ncclGetErrorString) get_error_string;
  decltype(&ncclGetLastError) get_last_error;
  decltype(&ncclGetUniqueId) get_unique_id;
  decltype(&ncclCommInitRankConfig) comm_init_rank_config;
  decltype(&ncclCommGetAsyncError) comm_get_async_error;
  decltype(&ncclCommFinalize) comm_finalize;
  decltype(&ncclCommDestroy) comm_destroy;
  decltype(&ncclCommAbort) comm_abort;
  decltype(&ncclGroupStart) group_start;
  decltype(&ncclGroupEnd) group_end;
  decltype(&ncclSend) send;
  decltype(&ncclRecv) recv;
  decltype(&ncclAllReduce) all_reduce;
};

/// Calls use.operator()<&NcclApi::member>(name) for each function, with its name in the library.
template <class Use>
void for_each_nccl_function(const Use& use) {
  use.template operator()<&NcclApi::get_version>("ncclGetVersion");
  use.template operator()<&NcclApi::get_error_string>("ncclGetErrorString");
  use.template operator()<&NcclApi::get_last_error>("ncclGetLastError");
  use.template operator()<&NcclApi::get_unique_id>("ncclGetUniqueId");
  use.template operator()<&NcclApi::comm_init_rank_config>("ncclCommInitRankConfig");
  use.template operator()<&NcclApi::comm_get_async_error>("ncclCommGetAsyncError");
  use.template operator()<&NcclApi::comm_finalize>("ncclCommFinalize");
  use.template operator()<&NcclApi::comm_destroy>("ncclCommDestroy");
  use.template operator()<&NcclApi::comm_abort>("ncclCommAbort");
  use.template operator()<&NcclApi::group_start>("ncclGroupStart");
  use.template operator()<&NcclApi::group_end>("ncclGroupEnd");
  use.template operator()<&NcclApi::send>("ncclSend");
  use.template operator()<&NcclApi::recv>("ncclRecv");
  use.template operator()<&NcclApi::all_reduce>("ncclAllReduce");
}

/// Opens the library, which stays open. Throws Error(resource) if the library or a function is missing, or if
/// the version is older than 2.18.
NcclApi load_nccl(const std::string& library = "libnccl.so.2");

/// Version of NCCL, such as "2.28.9". Throws Error(resource) for versions older than 2.18, the first whose
/// communicators can be finished and aborted in every state without waiting.
std::string version_of(const NcclApi& api);

}  // namespace lockstep
