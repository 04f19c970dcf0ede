#include "train/checkpoints/snapshot.h"

#include <utility>

#include "core/background.h"
#include "train/session/parameter_set.h"

namespace lockstep {
namespace {

/// Writes to each page of memory that is still zero, so that the system allocates the pages now; for 200 MB,
/// this takes 0.3 s.
void touch(std::span<std::byte> bytes) {
  constexpr std::size_t page = 4096;
  for (std::size_t i = 0; i < bytes.size(); i += page) {
    *static_cast<volatile std::byte*>(&bytes[i]) = std::byte{0};
  }
}

}  // namespace

Snapshot::Snapshot(const Session& session, const Run& run, const TrainingState& state)
    : session_(session), run_(run), slices_(state.updated().slices), gather_(session.world()) {
  session.world().agree([&] {
    if (run.options.execution.device == DeviceKind::cpu) {
      const std::size_t copies = is_first_rank() ? state.arenas().size() : 1;
      check_memory(session.device().available_bytes(), copies * run.layout.elements * sizeof(float),
                   "copies that checkpoints are written from");
    }
    for (const NamedArena& arena : state.arenas()) {
      const bool everywhere = &arena == &state.arenas().front() || slices_.size() == 2;
      if (everywhere && !is_first_rank()) continue;
      const std::size_t first = is_first_rank() ? 0 : arena.first;
      const std::size_t elements = is_first_rank() ? run.layout.elements : arena.last - arena.first;
      copies_.push_back({.arena = &arena,
                         .everywhere = everywhere,
                         .first = first,
                         .data = session.device().allocate_host(elements * sizeof(float))});
    }
  });
  touched_ = in_background([this] {
    for (const Copy& copy : copies_) touch({copy.data.data(), copy.data.bytes()});
  });
}

/// After an error, copies in transfer are kept until the process ends, as MPI may still access them.
Snapshot::~Snapshot() {
  if (!gather_.pending()) return;
  static auto& abandoned =
      *new std::vector<std::vector<Copy>>();  // NOLINT(bugprone-unhandled-exception-at-new)
  abandoned.push_back(std::move(copies_));
}

void Snapshot::take() {
  gather_.wait();
  if (touched_.valid()) touched_.get();
  std::vector<std::span<const std::byte>> own;
  std::vector<std::vector<std::span<std::byte>>> parts(slices_.size() - 1);
  for (const Copy& copy : copies_) {
    const NamedArena& arena = *copy.arena;
    const std::size_t elements = arena.last - arena.first;
    session_.device().copy(copy.values().data() + (arena.first - copy.first),
                           arena.values().data() + (arena.first - arena.begin), elements * sizeof(float));
    if (copy.everywhere) continue;
    own.emplace_back(std::as_bytes(std::span<const float>(copy.values())));
    if (!is_first_rank()) continue;
    for (std::size_t rank = 0; rank < parts.size(); ++rank) {
      parts[rank].push_back(
          std::as_writable_bytes(copy.values().subspan(slices_[rank], slices_[rank + 1] - slices_[rank])));
    }
  }
  gather_.start(own, parts);
}

std::vector<NamedTensor> Snapshot::model() const {
  return ParameterSet(run_.network, run_.layout, copies_.front().values()).tensors();
}

std::vector<NamedTensor> Snapshot::optimizer() const {
  std::vector<NamedTensor> tensors;
  for (const Copy& copy : std::span(copies_).subspan(1)) {
    for (const StateTensor& tensor : state_tensors(*copy.arena, run_)) {
      tensors.push_back(
          {tensor.name, tensor.parameter->shape,
           std::span<const float>(copy.values().subspan(tensor.offset, tensor.parameter->size()))});
    }
  }
  return tensors;
}

}  // namespace lockstep
