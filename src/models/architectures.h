#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lockstep/network.h"

namespace lockstep {

/// LeNet from "Dive into Deep Learning" (Zhang et al.), chapter "Computational Performance", section
/// "Training on Multiple GPUs": 129,068 parameters for 1x28x28 images and 10 classes.
std::unique_ptr<Network> lenet(Shape input, int classes);

/// Linear layers fc1, fc2, ... with ReLU between them. `widths`: features of all layers but the last. {256}
/// is the multilayer perceptron of "Dive into Deep Learning" (Zhang et al.): 203,530 parameters for 1x28x28
/// images and 10 classes.
std::unique_ptr<Network> mlp(Shape input, int classes, const std::vector<int>& widths);

/// AlexNet on one device (Krizhevsky, "One weird trick for parallelizing convolutional neural networks",
/// 2014), as in torchvision: 61,100,840 parameters for 3x224x224 images and 1,000 classes.
std::unique_ptr<Network> alexnet(Shape input, int classes);

/// VGG (Simonyan and Zisserman, "Very Deep Convolutional Networks for Large-Scale Image Recognition", 2015),
/// table 1: columns A (11 layers with parameters) and D (16), as in torchvision. The variants `_bn` have
/// batch norm after every convolution. vgg11 has 132,863,336 parameters and vgg16 138,357,544, for 3x224x224
/// images and 1,000 classes.
std::unique_ptr<Network> vgg11(Shape input, int classes);
std::unique_ptr<Network> vgg16(Shape input, int classes);
std::unique_ptr<Network> vgg11_bn(Shape input, int classes);
std::unique_ptr<Network> vgg16_bn(Shape input, int classes);

/// Residual networks (He et al., "Deep Residual Learning for Image Recognition", 2016), table 1, as
/// in torchvision. Parameters for 3x224x224 images and 1,000 classes: resnet18 11,689,512, resnet34
/// 21,797,672, resnet50 (v1.5) 25,557,032.
std::unique_ptr<Network> resnet18(Shape input, int classes);
std::unique_ptr<Network> resnet34(Shape input, int classes);
std::unique_ptr<Network> resnet50(Shape input, int classes);

/// The paper's network of 20 layers for CIFAR-10 (section 4.2), but with 1x1 convolutions in shortcuts that
/// change the shape (the paper pads channels with zeros): 272,474 parameters for 3x32x32 images and 10
/// classes, 2,752 of them in these shortcuts.
std::unique_ptr<Network> resnet20(Shape input, int classes);

/// ResNet-18 for small images from "Dive into Deep Learning" (Zhang et al.), section "Concise Implementation
/// for Multiple GPUs": the first convolution is 3x3 and not followed by pooling, convolutions have biases,
/// and 1x1 convolutions of shortcuts have no batch norm. 11,175,818 parameters for 1x28x28 images and 10
/// classes.
std::unique_ptr<Network> resnet18_d2l(Shape input, int classes);

/// MobileNetV2 of width 1 (Sandler et al., "MobileNetV2: Inverted Residuals and Linear Bottlenecks", 2018),
/// table 2, as in torchvision: 3,504,872 parameters for 3x224x224 images and 1,000 classes.
std::unique_ptr<Network> mobilenet_v2(Shape input, int classes);

/// Throws Error(usage) naming the model if images are smaller than `min_size` x `min_size` pixels.
void require_input(const std::string& model, Shape input, int min_size);

}  // namespace lockstep
