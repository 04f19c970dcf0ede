#pragma once

#include <memory>

#include "lockstep/network.h"

namespace lockstep {

/// VGG (Simonyan and Zisserman, "Very Deep Convolutional Networks for Large-Scale Image Recognition", 2015),
/// table 1: columns A (11 layers with parameters) and D (16), as torchvision has them; `_bn`: with batch norm
/// after every convolution. vgg11: 132,863,336 parameters, vgg16: 138,357,544, for 3x224x224 images and 1,000
/// classes.
std::unique_ptr<Network> vgg11(Shape input, int classes);
std::unique_ptr<Network> vgg16(Shape input, int classes);
std::unique_ptr<Network> vgg11_bn(Shape input, int classes);
std::unique_ptr<Network> vgg16_bn(Shape input, int classes);

}  // namespace lockstep
