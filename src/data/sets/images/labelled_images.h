#pragma once

#include "data/sets/images/image_parts.h"

namespace lockstep {

/// Lists images that have any number of labels each (Task::multilabel), or a class each. Tables name the
/// images, relative to the folder `options.directory` or to the folder of the image's part, with or without
/// extension. `options.labels` is either a table of all images, whose parts are FOLDER/train/, val/ and test/
/// if these folders exist; or a folder with a table for each part, train.csv, val.csv and test.csv. Without a
/// test part, `options.test_fraction` holds out samples of each label or class (data/sets/held_out.h).
///
/// With labels, samples are in the order of the rows, and keys are hashes of the images' paths relative to
/// the folder of their part. With classes, order and held-out samples are the same as if the files were in
/// folders of classes.
///
/// Throws Error(usage) for training without a test part, validation part or test fraction. Throws Error(data)
/// if the folder or the table does not exist; like read_label_table or read_class_table; for a row without an
/// image, an image without a row, two rows for one image and two images for one row; if the fraction leaves
/// nothing to test; for a class without training images; and, for training, for a single class or label, and
/// for labels that no image has.
ImageParts list_labelled_images(const DatasetOptions& options, DataUse use = DataUse::training);

}  // namespace lockstep
