// Graphs whose nodes share tensors or read a tensor under several names.
#include <gtest/gtest.h>
#include <onnx/onnx.pb.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "lockstep/network.h"
#include "onnx/import.h"
#include "onnx/protobuf/graph_writer.h"
#include "support/expect_error.h"

namespace lockstep::test {
namespace {

using Dimensions = std::vector<std::int64_t>;
using Weights = std::vector<std::vector<float>>;

/// Adds nodes for the tensor "input". Returns the name of their result.
using NodeAdder = std::function<std::string(GraphWriter&)>;

/// Imports a model for samples of `shape`.
OnnxImport import_graph(const Dimensions& shape, std::int64_t classes, const NodeAdder& add_nodes) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  GraphWriter graph(*model.mutable_graph(), "logits");
  graph.input("input", onnx::TensorProto::FLOAT, shape);
  graph.output(add_nodes(graph), Dimensions{classes});
  const std::string bytes = model.SerializeAsString();
  return parse_onnx(std::as_bytes(std::span(bytes)), "m.onnx", {});
}

/// Adds a constant with the values 0, 1, 2, ...
std::string count_up(GraphWriter& graph, const std::string& name, const Dimensions& shape) {
  std::vector<float> values(1);
  for (const std::int64_t extent : shape) values.resize(values.size() * static_cast<std::size_t>(extent));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  return graph.constant(name, shape, values);
}

/// Adds a product of samples of 3 values with a matrix of `columns` columns.
std::string matrix_product(GraphWriter& graph, std::int64_t columns) {
  return graph.add("MatMul", "fc", {"input", count_up(graph, "fc.matrix", {3, columns})});
}

TEST(OnnxGraphs, TransposedVectorsAreBiases) {
  const Weights expected = {{0, 2, 4, 1, 3, 5}, {0, 1}};
  const auto of_matrix = [](GraphWriter& graph) { return count_up(graph, "column", {2, 1}); };
  const auto of_vector = [](GraphWriter& graph) {
    const std::string axes = graph.constant("axes", Dimensions{1});
    return graph.add("Unsqueeze", "column", {count_up(graph, "vector", {2}), axes});
  };
  for (const NodeAdder& column : {NodeAdder(of_matrix), NodeAdder(of_vector)}) {
    const auto row = [&](GraphWriter& graph) { return graph.add("Transpose", "row", {column(graph)}); };
    const OnnxImport gemm = import_graph({3}, 2, [&](GraphWriter& graph) {
      return graph.add("Gemm", "fc", {"input", count_up(graph, "fc.matrix", {3, 2}), row(graph)});
    });
    EXPECT_EQ(gemm.weights, expected);
    const OnnxImport sum = import_graph({3}, 2, [&](GraphWriter& graph) {
      return graph.add("Add", "sum", {matrix_product(graph, 2), row(graph)});
    });
    EXPECT_EQ(sum.weights, expected);
  }
}

TEST(OnnxGraphs, TransposedMatricesAreConvolutions) {
  const OnnxImport imported = import_graph({1, 3, 3}, 1, [](GraphWriter& graph) {
    const std::string turned = graph.add("Transpose", "turned", {count_up(graph, "matrix", {3, 3})});
    const std::string axes = graph.constant("axes", Dimensions{0, 1});
    return graph.add("Conv", "conv", {"input", graph.add("Unsqueeze", "weights", {turned, axes})});
  });
  EXPECT_EQ(imported.weights, (Weights{{0, 3, 6, 1, 4, 7, 2, 5, 8}}));
}

TEST(OnnxGraphs, ConstantsOfOneChannelAreBiases) {
  const OnnxImport vectors = import_graph({3}, 1, [](GraphWriter& graph) {
    return graph.add("Add", "sum", {matrix_product(graph, 1), count_up(graph, "bias", {1})});
  });
  EXPECT_EQ(vectors.weights, (Weights{{0, 1, 2}, {0}}));
  const OnnxImport images = import_graph({1, 2, 2}, 1, [](GraphWriter& graph) {
    const std::string x = graph.add("Conv", "conv", {"input", count_up(graph, "weights", {1, 1, 2, 2})});
    return graph.add("Add", "sum", {x, count_up(graph, "bias", {1, 1, 1, 1})});
  });
  EXPECT_EQ(images.weights, (Weights{{0, 1, 2, 3}, {0}}));
}

/// The result of a layer has two names, x and y, and a constant is added to one of them.
TEST(OnnxGraphs, LayersThatAnotherNodeReadsGetNoBias) {
  for (const char* const alias : {"Identity", "Flatten"}) {
    for (const bool adds_to_x : {true, false}) {
      SCOPED_TRACE(std::string(alias) + (adds_to_x ? ", added to x" : ", added to y"));
      const auto with_bias = [&](GraphWriter& graph, bool is_read_twice) {
        const std::string x = matrix_product(graph, 2);
        const std::string y = graph.add(alias, "y", {x});
        const std::string sum = graph.add("Add", "sum", {adds_to_x ? x : y, count_up(graph, "bias", {2})});
        if (!is_read_twice) return sum;
        return graph.add("Add", "residual", {sum, adds_to_x ? y : x});
      };
      const OnnxImport imported =
          import_graph({3}, 2, [&](GraphWriter& graph) { return with_bias(graph, false); });
      EXPECT_EQ(imported.weights, (Weights{{0, 2, 4, 1, 3, 5}, {0, 1}}));
      expect_error(Category::data, {"node 'sum' (Add): constants are supported as bias of"},
                   [&] { import_graph({3}, 2, [&](GraphWriter& graph) { return with_bias(graph, true); }); });
    }
  }
}

TEST(OnnxGraphs, LayersWhoseShapeAloneIsReadAreLeftOut) {
  const OnnxImport imported = import_graph({3}, 2, [](GraphWriter& graph) {
    const std::string other = graph.add("MatMul", "other", {"input", count_up(graph, "b", {3, 2})});
    const std::string shape = graph.add("Shape", "shape", {graph.add("Relu", "relu", {other})});
    return graph.add("Reshape", "shaped", {matrix_product(graph, 2), shape});
  });
  EXPECT_EQ(imported.network->layers().size(), 2U);
  EXPECT_EQ(imported.weights, (Weights{{0, 2, 4, 1, 3, 5}}));
}

TEST(OnnxGraphs, PadNodesWithoutPaddingAreLeftOut) {
  const OnnxImport imported = import_graph({1, 2, 2}, 1, [](GraphWriter& graph) {
    const std::string x = graph.add("Pad", "pad", {"input", graph.constant("pads", Dimensions(8, 0))});
    return graph.add(
        "AveragePool", "pool", {x},
        {{"kernel_shape", Dimensions{3, 3}}, {"strides", Dimensions{3, 3}}, {"pads", Dimensions(4, 1)}});
  });
  const auto& pool = std::get<AvgPool2d>(imported.network->layers().back().operation);
  EXPECT_EQ(pool.padding, 1);
  EXPECT_FALSE(pool.count_include_pad);
}

TEST(OnnxGraphs, ConversionsToTheTypeOfRepeatedNumbersAreRefused) {
  const NodeAdder nodes = [](GraphWriter& graph) {
    const std::string one = graph.constant("one", Dimensions{1});
    const std::string ones = graph.add("Expand", "ones", {one, graph.constant("count", Dimensions{2})});
    const std::string x = graph.add("CastLike", "like", {"input", ones});
    return graph.add("MatMul", "fc", {x, count_up(graph, "fc.matrix", {3, 2})});
  };
  expect_error(Category::data, {"node 'like' (CastLike): the type of its second input is not known"},
               [&] { import_graph({3}, 2, nodes); });
}

TEST(OnnxGraphs, GroupNormsWithWeightAndBiasTakeNoOtherConstants) {
  for (const std::string operation : {"Mul", "Add"}) {
    const NodeAdder nodes = [&](GraphWriter& graph) {
      const std::string x = graph.add("GroupNormalization", "norm",
                                      {"input", count_up(graph, "weight", {4}), count_up(graph, "bias", {4})},
                                      {{"num_groups", std::int64_t{2}}});
      return graph.add(operation.c_str(), "again", {x, count_up(graph, "more", {4, 1, 1})});
    };
    expect_error(Category::data, {"node 'again' (" + operation + "): constants are supported as bias"}, [&] {
      import_graph({4, 8, 8}, 4, nodes);
    });
  }
}

TEST(OnnxGraphs, LayersThatShareWeightsAreRefused) {
  const NodeAdder nodes = [](GraphWriter& graph) {
    const std::string weights = count_up(graph, "weights", {3, 3});
    return graph.add("MatMul", "again", {graph.add("MatMul", "fc", {"input", weights}), weights});
  };
  expect_error(Category::data, {"node 'again' (MatMul): 'weights' is read by another layer, too"},
               [&] { import_graph({3}, 3, nodes); });
}

}  // namespace
}  // namespace lockstep::test
