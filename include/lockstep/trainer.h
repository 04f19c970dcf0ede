#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lockstep/checkpoint.h"
#include "lockstep/dataset.h"
#include "lockstep/model_description.h"
#include "lockstep/model_file.h"
#include "lockstep/network.h"
#include "lockstep/reports.h"
#include "lockstep/training_options.h"

namespace lockstep {

class World;

/// Trains a network on all ranks of the world. Every rank constructs a Trainer with equal arguments and calls
/// the same methods on one thread; parameters and their averages are equal on all ranks whenever a method
/// returns. World, network and data sets must outlive the trainer, and must not change while it lives.
class Trainer : public RunHooks {
 public:
  /// best() and early_stopping use `validation` if it is not null, else `test`. Options with the value
  /// by_data are resolved as by resolved_by_data. While the trainer lives, the calling thread may be bound to
  /// a core, and flushes denormals to zero. Collective. Throws on all ranks: Error(usage) for impossible
  /// options (batch not divisible by micro-batches, more ranks than micro-batches, ...) and for options or
  /// data that differ between ranks, Error(data) for labels or targets that are invalid for the task,
  /// Error(resource) when memory is short.
  Trainer(const World& world, const Network& network, const Dataset& train, const Dataset& test,
          const TrainerOptions& options, const Dataset* validation = nullptr);
  ~Trainer();

  /// Adds facts to the description of the run in checkpoints and model files; resume() also compares the
  /// options among them. Must be called before write_checkpoints, resume and save.
  void describe(RunFacts facts);
  /// Throws Error(resource) on all ranks unless the disk has room for two checkpoints in `folder`, which need
  /// not exist yet. After resume(), old checkpoints that may be replaced count as free space.
  /// write_checkpoints makes the same check. Collective.
  void check_checkpoint_space(const std::filesystem::path& folder);
  /// Makes fit() write checkpoints to `folder`, which is created if it is missing: when `options` say so, at
  /// the end of each epoch, and on requests of `ask`. Rank 0 writes concurrently with the training; a
  /// checkpoint that cannot be written is reported, and the run continues. After resume(), checkpoints of
  /// later steps are renamed to "step-00001234.XXXXXXXX.aside", because the run makes these steps again; they
  /// are removed once the run has passed them. Returns, on rank 0, sentences about checkpoints that were
  /// renamed. Collective. Throws Error(resource) on all ranks when memory or the disk is short, the folder
  /// cannot be created, or a later checkpoint cannot be renamed.
  std::vector<std::string> write_checkpoints(const std::filesystem::path& folder,
                                             const CheckpointOptions& options);
  /// Continues the run of a checkpoint, on any number of ranks: fit() makes the remaining steps, with the
  /// same result as if the run had not been interrupted. Only rank 0 reads the folder. Returns, on rank 0,
  /// warnings of changes that may alter the result (another kind of processor, other versions of libraries).
  /// Collective. Throws on all ranks: Error(usage) for an option that affects the result and differs, unless
  /// `force`; for another number of steps per epoch; for fewer epochs or steps than the run has begun; for
  /// options that need a state which the checkpoint lacks; and if write_checkpoints was called before.
  /// Error(data) for a checkpoint that is damaged or belongs to another network or data set.
  std::vector<std::string> resume(const std::filesystem::path& checkpoint, bool force = false);

  /// Trains the remaining epochs, or fewer with early_stopping, max_steps or Request::stop. Throws
  /// Error(data), naming step and learning rate, when the loss of a step, or the norm of a gradient that is
  /// clipped, is not finite. That step changes nothing. With OnNan::skip, fit() throws only after 10 such
  /// steps in a row; with OnNan::rollback, which needs write_checkpoints, after 10 rollbacks without a whole
  /// epoch in between.
  /// Also throws Error(data) when an epoch ends with a parameter that is not finite; when the run ends and
  /// OnNan::skip or OnNan::rollback has left out all its steps; and when none of an epoch's training samples,
  /// or none of the test samples, can be read. With input.strict, a sample that cannot be read throws only on
  /// the rank that reads it, while the others wait; so does any other exception of a data set. Do not catch
  /// it to continue: let it end the program, as run_program does (the launcher then ends the other ranks).
  void fit();
  /// Whether neither steps nor evaluations remain.
  bool done() const;
  std::uint64_t step() const;  ///< number of steps made so far, by earlier processes too
  int epochs() const;          ///< completed epochs (all steps and the evaluation), also by earlier processes
  /// OnNan::rollback: step of the last rollback, up to which batches are left out; 0: none.
  std::uint64_t pass_until() const;
  BestEpoch best() const;      ///< an epoch cut short by max_steps counts only while it is the run's last
  bool stopped_early() const;  ///< whether early_stopping ended the run before the last epoch
  /// Mean loss and accuracy over `dataset`, each sample once, spread over the ranks. Collective. Throws
  /// Error(data) on all ranks if no sample can be read, or as the constructor does for data that do not fit;
  /// errors of reading a sample are thrown as by fit(), on one rank only.
  Evaluation evaluate(const Dataset& dataset);
  /// For measurements: makes the next steps without evaluation and reports, as many as are submitted together
  /// (CPU: one), but at most `max` and not beyond the end of the epoch. Continues after the last epoch with
  /// steps of further epochs. Collective. Throws Error(usage) if max < 0; errors of reading a sample are
  /// thrown as by fit(), on one rank only.
  StepTimes steps(int max);

  /// Loads all parameters from a model file; names and shapes must be equal except as `options` allow.
  /// num_batches_tracked of PyTorch's batch norm is ignored. Returns warnings for the user if lockstep
  /// trained the model for other classes, or with another mean or deviation of images, of a table's column or
  /// of the numbers to predict. Collective. Throws Error(data) for a file that does not fit, such as a model
  /// of a table with other columns, Error(usage) if ranks have different files.
  std::vector<std::string> load(const ModelFile& file, const LoadOptions& options = {});
  /// Writes the parameters, or with model_ema their averages, as a PyTorch state_dict; num_batches_tracked is
  /// 0. The file's metadata hold the ModelDescription, with the results of the last evaluation if no step was
  /// made since, and `metadata`. Call it on one rank only. Throws Error(usage) for metadata that are not
  /// UTF-8.
  void save(const std::string& file, const std::map<std::string, std::string>& metadata = {}) const;
  /// "xxh3:" and 32 hexadecimal digits: XXH3 128-bit hash of all parameters and statistics as trained (not
  /// their averages), in the network's order, little-endian.
  std::string digest() const;

  int micro_batches() const;
  Reduce reduce() const;
  DeviceKind device() const;  ///< cpu or cuda
  int threads() const;
  /// Name of the transport of gradients: "none", "shared memory", "messages", "shared memory and messages" or
  /// "NCCL".
  std::string transport() const;
  /// Instruction set, or name of the GPU, on which this rank computes.
  std::string processor() const;
  /// Kinds of processors of all ranks: "CPU", "NVIDIA H200" or "CPU and NVIDIA H200". GPUs are named after
  /// this rank's GPU.
  std::string processors() const;
  /// The cuDNN engine chosen for each operation, for the run's record: JSON, as in the file
  /// ExecutionOptions::plan_cache. Empty on CPUs.
  std::string engines() const;
  std::uint64_t steps_per_epoch() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace lockstep
