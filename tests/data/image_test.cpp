#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
// jpeglib.h needs <cstdio> before it.
#include <jpeglib.h>

#include "data/image/decoder.h"
#include "data/image/resample.h"
#include "support/expect_error.h"
#include "support/image_files.h"

namespace lockstep {
namespace {

using Bytes = std::vector<std::uint8_t>;

Box whole(ImageSize size) {
  return {0.0, 0.0, static_cast<double>(size.width), static_cast<double>(size.height)};
}

ImagePart decode_all(const Bytes& file, int channels = 3) {
  ImageDecoder decoder;
  const ImageSize size = decoder.open(file);
  ImagePart part;
  decoder.decode(whole(size), size, channels, part);
  return part;
}

int pixel(const ImagePart& part, int x, int y, int channel) {
  const Image& image = part.image;
  return image.pixels[static_cast<std::size_t>((y * image.width + x) * image.channels + channel)];
}

TEST(ImageDecoder, PngIsExactWithoutTransparency) {
  const Image image = test_image(13, 7, 1);
  const ImagePart part = decode_all(encode_png(image.pixels, 13, 7, PNG_FORMAT_RGB));
  EXPECT_EQ(std::pair(part.image.width, part.image.height), std::pair(13, 7));
  EXPECT_EQ(part.image.pixels, image.pixels);
  ImagePart clear = decode_all(encode_png({10, 20, 30, 0, 40, 50, 60, 128}, 2, 1, PNG_FORMAT_RGBA));
  clear.image.pixels.resize(6);  // drops the remains of the fourth channel
  EXPECT_EQ(clear.image.pixels, (Bytes{10, 20, 30, 40, 50, 60}));
  const Bytes grey = encode_png({7, 9}, 2, 1, PNG_FORMAT_GRAY);
  EXPECT_EQ(decode_all(grey).image.pixels, (Bytes{7, 7, 7, 9, 9, 9}));
  EXPECT_EQ(decode_all(grey, 1).image.pixels, (Bytes{7, 9}));
}

/// PNG file of one colour with `depth` bits per value, and a gAMA chunk if `gamma` is not 0.
Bytes one_colour_png(int type, int depth, std::uint8_t value, double gamma = 0.0) {
  Bytes file;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(
      png, &file,
      [](png_structp writer, png_bytep bytes, png_size_t count) {
        auto* to = static_cast<Bytes*>(png_get_io_ptr(writer));
        to->insert(to->end(), bytes, bytes + count);
      },
      nullptr);
  png_set_IHDR(png, info, 4, 4, depth, type, PNG_INTERLACE_ADAM7, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  if (gamma != 0.0) png_set_gAMA(png, info, gamma);
  png_write_info(png, info);
  Bytes row(4 * 4 * 2, value);
  png_bytep rows[] = {row.data(), row.data(), row.data(), row.data()};
  png_write_image(png, rows);
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return file;
}

TEST(ImageDecoder, PngValuesAreThoseOfTheFile) {
  for (const int type : {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA}) {
    for (const int depth : {8, 16}) {
      for (const double gamma : {0.0, 0.45455, 1.0}) {
        const Bytes file = one_colour_png(type, depth, 0x80, gamma);
        EXPECT_EQ(pixel(decode_all(file, 3), 3, 3, 2), 0x80) << type << " " << depth << " " << gamma;
        EXPECT_EQ(pixel(decode_all(file, 1), 3, 3, 0), 0x80) << type << " " << depth << " " << gamma;
      }
    }
  }
}

TEST(ImageDecoder, GreyOfColoursIsTheSameInAllFormats) {
  for (const std::array<std::uint8_t, 3>& colour :
       {std::array<std::uint8_t, 3>{200, 30, 10}, {20, 220, 40}, {0, 0, 255}}) {
    Image image{16, 16, 3, {}};
    for (int i = 0; i < 16 * 16; ++i) image.pixels.insert(image.pixels.end(), colour.begin(), colour.end());
    const int png = pixel(decode_all(encode_png(image.pixels, 16, 16, PNG_FORMAT_RGB), 1), 8, 8, 0);
    EXPECT_EQ(png, pixel(decode_all(encode_webp(image), 1), 8, 8, 0));
    EXPECT_NEAR(png, pixel(decode_all(encode_jpeg(image, 95), 1), 8, 8, 0), 3);
  }
}

/// Progressive JPEG without chroma subsampling.
std::string progressive_jpeg(int size) {
  const Image image = test_image(size, size, 1);
  jpeg_error_mgr errors{};
  jpeg_compress_struct info{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* bytes = nullptr;
  unsigned long length = 0;
  jpeg_mem_dest(&info, &bytes, &length);
  info.image_width = info.image_height = static_cast<JDIMENSION>(size);
  info.input_components = 3;
  info.in_color_space = JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_simple_progression(&info);
  info.comp_info[0].h_samp_factor = info.comp_info[0].v_samp_factor = 1;
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    auto* row = const_cast<std::uint8_t*>(image.pixels.data()) + info.next_scanline * info.image_width * 3;
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  std::string file(reinterpret_cast<char*>(bytes), length);
  std::free(bytes);
  return file;
}

Bytes as_bytes(const std::string& text) { return {text.begin(), text.end()}; }

/// A hostile file of 100 kB could repeat the first scan thousands of times.
TEST(ImageDecoder, ProgressiveJpegsHaveALimitOfScans) {
  const std::string file = progressive_jpeg(32);
  EXPECT_EQ(decode_all(as_bytes(file)).image.width, 32);
  const std::size_t begin = file.find("\xff\xda");
  std::size_t end = begin + 2;
  while (file[end] != '\xff' || file[end + 1] == '\0') ++end;  // the next marker
  std::string scans;
  for (int i = 0; i < 50; ++i) scans += file.substr(begin, end - begin);
  EXPECT_EQ(decode_all(as_bytes(file.substr(0, end) + scans + file.substr(end))).image.width, 32);
  expect_error(Category::data, {"is not a readable JPEG image: more than 100 scans"},
               [&] { decode_all(as_bytes(file.substr(0, end) + scans + scans + file.substr(end))); });
}

TEST(ImageDecoder, ProgressiveJpegsHaveALimitOfMemory) {
  std::string file = progressive_jpeg(32);
  file.replace(file.find("\xff\xc2") + 5, 4, std::string("\x20\0\x20\0", 4));  // 8192 x 8192
  expect_error(Category::data, {"is not a readable JPEG image: it needs more than 256 MB to decode"},
               [&] { decode_all(as_bytes(file)); });
}

void expect_near(const ImagePart& part, const Image& image) {
  double difference = 0.0;
  for (std::size_t i = 0; i < image.pixels.size(); ++i) {
    difference += std::abs(part.image.pixels[i] - image.pixels[i]);
  }
  EXPECT_LT(difference / static_cast<double>(image.pixels.size()), 8.0);
}

TEST(ImageDecoder, JpegIsNearTheOriginal) {
  const Image image = test_image(64, 48, 2);
  expect_near(decode_all(encode_jpeg(image, 95)), image);
  EXPECT_EQ(decode_all(encode_jpeg(test_image(20, 10, 3, 1), 90)).image.channels, 3);
  EXPECT_EQ(decode_all(encode_jpeg(image, 90), 1).image.channels, 1);
}

TEST(ImageDecoder, APartHasThePixelsOfTheWhole) {
  const Bytes file = encode_jpeg(test_image(150, 110, 4), 90);
  const ImagePart all = decode_all(file);
  ImageDecoder decoder;
  for (const Box box :
       {Box{40, 30, 50, 20}, Box{0, 0, 9, 9}, Box{141, 101, 9, 9}, Box{77.5, 0.25, 20, 109}}) {
    decoder.open(file);
    ImagePart part;
    decoder.decode(box, {static_cast<int>(box.width), static_cast<int>(box.height)}, 3, part);
    const int left = static_cast<int>(std::floor(box.left));
    const int top = static_cast<int>(std::floor(box.top));
    const int shift_x = left - static_cast<int>(std::floor(part.box.left));
    const int shift_y = top - static_cast<int>(std::floor(part.box.top));
    for (int y = top; y < std::ceil(box.top + box.height); ++y) {
      for (int x = left; x < std::ceil(box.left + box.width); ++x) {
        ASSERT_EQ(pixel(part, x - shift_x, y - shift_y, 1), pixel(all, x, y, 1)) << x << " " << y;
      }
    }
  }
}

TEST(ImageDecoder, LargeJpegsAreDecodedAtALowerResolution) {
  const Bytes file = encode_jpeg(test_image(400, 300, 5), 90);
  ImageDecoder decoder;
  ImagePart part;
  decoder.decode(whole(decoder.open(file)), {90, 70}, 3, part);
  EXPECT_EQ(part.image.width, 100);
  EXPECT_EQ(part.image.height, 75);
  EXPECT_EQ(part.box.width, 100.0);
}

TEST(ImageDecoder, WebpIsExactIfLosslessAndWithoutTransparency) {
  const Image image = test_image(13, 7, 1);
  const ImagePart part = decode_all(encode_webp(image));
  EXPECT_EQ(std::pair(part.image.width, part.image.height), std::pair(13, 7));
  EXPECT_EQ(part.image.pixels, image.pixels);
  EXPECT_EQ(decode_all(encode_webp(test_image(13, 7, 1, 1)), 1).image.pixels, test_image(13, 7, 1, 1).pixels);
  ImagePart clear = decode_all(encode_webp({2, 1, 4, {10, 20, 30, 1, 40, 50, 60, 128}}));
  EXPECT_EQ(clear.image.pixels, (Bytes{10, 20, 30, 40, 50, 60}));
}

TEST(ImageDecoder, WebpIsNearTheOriginalIfLossy) {
  const Image image = test_image(64, 48, 2);
  expect_near(decode_all(encode_webp(image, 90)), image);
}

TEST(ImageDecoder, AnimatedWebpIsRefused) {
  // VP8X chunk of a 16x16 image with the animation flag.
  const Bytes file = as_bytes(std::string("RIFF\x16\0\0\0WEBPVP8X\x0a\0\0\0\x02\0\0\0\x0f\0\0\x0f\0\0", 30));
  expect_error(Category::data, {"is an animated WebP image: only those of one image can be read"},
               [&] { decode_all(file); });
}

TEST(ImageDecoder, BadFilesSayWhy) {
  const Bytes jpeg = encode_jpeg(test_image(64, 48, 6), 90);
  const Bytes png = encode_png(test_image(64, 48, 6).pixels, 64, 48, PNG_FORMAT_RGB);
  const Bytes webp = encode_webp(test_image(64, 48, 6)), lossy_webp = encode_webp(test_image(64, 48, 6), 80);
  Bytes huge = png;
  huge[16] = 0x7f;  // highest byte of the width; the checksum is at 29
  const std::vector<std::pair<Bytes, std::string>> cases = {
      {{}, "is empty"},
      {{'G', 'I', 'F', '8'}, "is not a JPEG, PNG or WebP file"},
      {{0xff, 0xd8, 0xff}, "is not a readable JPEG image: "},
      {Bytes(jpeg.begin(), jpeg.begin() + 100), "is not a readable JPEG image: "},
      {Bytes(jpeg.begin(), jpeg.end() - 200), "is not a readable JPEG image: Premature end"},
      {Bytes(png.begin(), png.begin() + 20), "is not a readable PNG image: "},
      {Bytes(png.begin(), png.end() - 100), "is not a readable PNG image: "},
      {huge, "is not a readable PNG image: "},
      {as_bytes("RIFF"), "is not a JPEG, PNG or WebP file"},
      {as_bytes("RIFF....WAVE"), "is not a JPEG, PNG or WebP file"},
      {Bytes(webp.begin(), webp.begin() + 14), "is not a readable WebP image: the file is cut off"},
      {Bytes(webp.begin(), webp.end() - 8), "is not a readable WebP image: "},
      {Bytes(lossy_webp.begin(), lossy_webp.end() - 100), "is not a readable WebP image: "}};
  for (const auto& [file, message] : cases) {
    expect_error(Category::data, {message}, [&file = file] { decode_all(file); });
  }
}

TEST(ImageDecoder, HugeImagesAreRefusedBeforeMemoryIsTaken) {
  Bytes jpeg = encode_jpeg(test_image(16, 16, 7, 1), 90);
  for (std::size_t i = 0; i + 8 < jpeg.size(); ++i) {
    if (jpeg[i] == 0xff && jpeg[i + 1] == 0xc0) {  // start of frame: height and width at 5
      std::fill_n(jpeg.begin() + static_cast<std::ptrdiff_t>(i) + 5, 4, std::uint8_t{0x7f});
      break;
    }
  }
  expect_error(Category::data, {"an image of 32639x32639 pixels is too large"}, [&] { decode_all(jpeg); });
  Bytes webp = encode_webp(test_image(16, 16, 7));  // 28 bits at 21, after the signature, hold the size
  webp[21] = webp[22] = webp[23] = 0xff;
  webp[24] |= 0x0f;
  expect_error(Category::data, {"an image of 16384x16384 pixels is too large"}, [&] { decode_all(webp); });
}

/// The header's formula in double precision.
double reference(const Image& image, const Box& box, double x, double y, int channel, int width, int height) {
  const auto weight = [](double begin, double extent, int outputs, double at, int input) {
    const double step = extent / outputs;
    return std::max(0.0, 1.0 - std::fabs(input + 0.5 - (begin + (at + 0.5) * step)) / std::max(1.0, step));
  };
  double sum = 0.0;
  double weights = 0.0;
  for (int i = 0; i < image.height; ++i) {
    for (int j = 0; j < image.width; ++j) {
      if (j + 1 <= box.left || j >= box.left + box.width || i + 1 <= box.top || i >= box.top + box.height) {
        continue;
      }
      const double w = weight(box.left, box.width, width, x, j) * weight(box.top, box.height, height, y, i);
      sum += w * image.pixels[static_cast<std::size_t>((i * image.width + j) * image.channels + channel)];
      weights += w;
    }
  }
  return sum / weights;
}

TEST(Resampler, FollowsItsFormula) {
  Resampler resampler;
  for (const int channels : {1, 3}) {
    const Image image = test_image(37, 29, 8, channels);
    for (const Box box :
         {Box{0, 0, 37, 29}, Box{3, 4, 20, 11}, Box{0.5, 1.25, 30.75, 9.5}, Box{36, 28, 1, 1}}) {
      for (const auto& [width, height] : {std::pair{8, 8}, {37, 29}, {50, 3}, {1, 1}}) {
        Bytes out(static_cast<std::size_t>(width * height * channels));
        resampler.resize(image, box, width, height, out.data());
        for (int i = 0; i < width * height * channels; ++i) {
          const int c = i / (width * height);
          const double expected = reference(image, box, i % width, i / width % height, c, width, height);
          ASSERT_NEAR(out[static_cast<std::size_t>(i)], expected, 0.6)
              << i << " of " << width << "x" << height;
        }
      }
    }
  }
}

TEST(Resampler, KeepsBlackWhiteAndTheImageItself) {
  Resampler resampler;
  Image image = test_image(20, 10, 9, 1);
  Bytes out(200);
  resampler.resize(image, {0, 0, 20, 10}, 20, 10, out.data());
  EXPECT_EQ(out, image.pixels);
  for (const std::uint8_t value : {std::uint8_t{0}, std::uint8_t{255}}) {
    std::fill(image.pixels.begin(), image.pixels.end(), value);
    resampler.resize(image, {1.3, 0.7, 17.1, 8.8}, 20, 10, out.data());
    EXPECT_EQ(out, Bytes(200, value));
  }
}

}  // namespace
}  // namespace lockstep
