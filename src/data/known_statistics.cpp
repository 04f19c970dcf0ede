#include "lockstep/input.h"

namespace lockstep {

NamedNumbers known_means() {
  return {{"mnist", {0.1307}},
          {"fashion-mnist", {0.2860}},
          {"cifar10", {0.4914, 0.4822, 0.4465}},
          {"cifar100", {0.5071, 0.4865, 0.4409}},
          {"imagenet", {0.485, 0.456, 0.406}}};
}

NamedNumbers known_deviations() {
  return {{"mnist", {0.3081}},
          {"fashion-mnist", {0.3530}},
          {"cifar10", {0.2470, 0.2435, 0.2616}},
          {"cifar100", {0.2673, 0.2564, 0.2762}},
          {"imagenet", {0.229, 0.224, 0.225}}};
}

}  // namespace lockstep
