#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "ptx/kernel.h"

namespace lockstep::ptx {
namespace {

using Words = std::vector<std::uint32_t>;

/// Kernel whose parameters are the address of its results and two words.
std::string kernel(const std::string& body, const std::string& outside = "") {
  return ".version 9.0\n" + outside + R"(
.visible .entry example(
	.param .u64 example_param_0,
	.param .align 4 .b8 example_param_1[8]
)
.maxntid 256
{
	.reg .pred 	%p<4>;
	.reg .b16 	%rs<8>;
	.reg .b32 	%r<8>;
	.reg .b64 	%rd<8>;
	.reg .b64 	%SPL;
	ld.param.u64 	%rd1, [example_param_0];
	cvta.to.global.u64 	%rd2, %rd1;
	mov.u32 	%r1, %tid.x;
	mul.wide.u32 	%rd3, %r1, 4;
	add.s64 	%rd4, %rd2, %rd3;
)" + body +
         "\n}\n";
}

struct Stores final : StoreObserver {
  void before_store(const void* /*address*/, std::size_t bytes) override { stored += bytes; }
  std::size_t stored = 0;
};

/// Results of the threads of one block, initially 0.
Words results(const std::string& text, unsigned threads = 4) {
  Words memory(threads);
  struct {
    const void* address;
    std::int32_t words[2];
  } const parameters{memory.data(), {7, -3}};
  Stores stores;
  for (const Kernel& each : read_kernels(text)) {
    run(each, 1, threads, std::as_bytes(std::span(&parameters, 1)), stores);
  }
  return memory;
}

/// Whether reading and running `text` fails with an error that contains `words`.
::testing::AssertionResult fails(const std::string& text, const std::string& words) {
  try {
    results(text);
    return ::testing::AssertionFailure() << "no error";
  } catch (const std::runtime_error& thrown) {
    if (std::string(thrown.what()).find(words) != std::string::npos) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << thrown.what();
  }
}

TEST(Interpreter, LoadsParametersAndStoresResults) {
  EXPECT_EQ(results(kernel(R"(
	ld.param.v2.u32 	{%r2, %r3}, [example_param_1];
	add.s32 	%r4, %r2, %r3;
	mad.lo.s32 	%r5, %r1, 10, %r4;
	st.global.u32 	[%rd4], %r5;
	ret;)")),
            (Words{4, 14, 24, 34}));
}

TEST(Interpreter, BranchesByPredicates) {
  EXPECT_EQ(results(kernel(R"(
	mov.u32 	%r2, 0;
$L__BB0_1:
	setp.ge.u32 	%p1, %r2, %r1;
	@%p1 bra 	$L__BB0_2;
	add.s32 	%r2, %r2, 1;
	bra.uni 	$L__BB0_1;
$L__BB0_2:
	@!%p1 ret;
	st.global.u32 	[%rd4], %r2;)")),
            (Words{0, 1, 2, 3}));
}

TEST(Interpreter, RegistersHaveTheirWidth) {
  EXPECT_EQ(results(kernel(R"(
	ld.param.s16 	%rs1, [example_param_1+4];
	cvt.s32.s16 	%r2, %rs1;
	neg.s32 	%r3, %r2;
	shr.u32 	%r4, %r2, 28;
	mov.b32 	%r5, {%rs1, 1};
	mov.b32 	{%rs2, %rs3}, %r5;
	cvt.u32.u16 	%r6, %rs3;
	add.s32 	%r7, %r3, %r4;
	add.s32 	%r7, %r7, %r6;
	st.global.u32 	[%rd4], %r7;)"),
                    1),
            (Words{3 + 15 + 1}));
}

/// Each thread reads the element of another thread, and adds the element read by the thread two lanes higher,
/// or 100 if there is no such lane.
TEST(Interpreter, ThreadsMeetAtBarriersAndShuffles) {
  EXPECT_EQ(results(kernel(R"(
	shl.b32 	%r2, %r1, 2;
	mov.u32 	%r3, tile;
	add.s32 	%r4, %r3, %r2;
	st.shared.u32 	[%r4], %r1;
	bar.sync 	0;
	xor.b32 	%r5, %r2, 12;
	add.s32 	%r5, %r5, %r3;
	ld.shared.u32 	%r6, [%r5];
	shfl.sync.down.b32 	%r7|%p1, %r6, 2, 31, -1;
	selp.b32 	%r7, %r7, 100, %p1;
	add.s32 	%r7, %r7, %r6;
	st.global.u32 	[%rd4], %r7;)",
                           ".shared .align 4 .b8 tile[16];")),
            (Words{3 + 1, 2 + 0, 101, 100}));
}

TEST(Interpreter, EachThreadHasLocalMemory) {
  EXPECT_EQ(results(kernel(R"(
	.local .align 8 .b8 	__local_depot0[8];
	mov.u64 	%SPL, __local_depot0;
	st.local.u32 	[%SPL+4], %r1;
	ld.local.u32 	%r2, [%SPL+4];
	st.global.u32 	[%rd4], %r2;)")),
            (Words{0, 1, 2, 3}));
}

TEST(Interpreter, ErrorsNameTheLine) {
  EXPECT_TRUE(fails(kernel("ex2.approx.ftz.f32 \t%r1, %r2;"),
                    "line 19: PTX: unknown instruction ex2.approx.ftz.f32"));
  EXPECT_TRUE(fails(kernel("add.s32 \t%r1, %r9, 1;"), "unknown register %r9"));
  EXPECT_TRUE(fails(kernel("mov.u32 \t%r2, 5x;"), "unknown number 5x"));
  EXPECT_TRUE(fails(kernel("bra \t$L__BB0_9;"), "unknown label $L__BB0_9"));
  EXPECT_TRUE(fails(kernel("", ".const .u32 table;"), "line 2: PTX: unknown statement .const"));
}

TEST(Interpreter, ErrorsNameTheThread) {
  EXPECT_TRUE(fails(kernel("st.global.u32 \t[%rd4+2], %r1;"), "misaligned address"));
  EXPECT_TRUE(fails(kernel("st.shared.u32 \t[%rd3], %r1;", ".shared .align 4 .b8 tile[12];"),
                    "address 12 of 12 bytes (block 0, thread 3)"));
  EXPECT_TRUE(
      fails(kernel("setp.eq.s32 \t%p1, %r1, 2;\n@%p1 bar.sync \t0;"), "other threads wait elsewhere"));
  EXPECT_TRUE(fails(kernel("setp.lt.u32 \t%p1, %r1, 2;\n@%p1 shfl.sync.down.b32 \t%r2, %r1, 1, 31, -1;"),
                    "other threads wait elsewhere"));
  EXPECT_TRUE(fails(kernel("div.u32 \t%r2, 1, %r1;"), "division by zero"));
}

}  // namespace
}  // namespace lockstep::ptx
