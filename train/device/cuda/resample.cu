// resample: images of different sizes in bytes to images dst [n,h,w,3], by the taps of the columns
// and then those of the rows, in integers: the sum of weights of 22 bits and bytes, rounded and
// limited to a byte after each of the two. A row of the table images is an image; see Resample in
// ../image.go. A block has 8 rows and 32 columns of an image. It makes the rows that these need, 64
// at a time, in shared memory. A thread then adds them up to its pixel. Reads the rows of an
// image a little more than once, and writes 3 bytes a pixel. Reference: ../reference/resample.go
#include "hg.h"

enum {
  RESAMPLE_COLUMNS = 32,    // of a block
  RESAMPLE_LINES = 8,       // of a block, one for each warp
  RESAMPLE_ROWS = 64,       // in shared memory at a time
  RESAMPLE_HALF = 1 << 21,  // rounds a sum
};

struct resample_shape {
  int h, w, bands, tiles;
};

// resample_image is a row of the table.
struct resample_image {
  int at, width, height, across_at, across_width, down_at, down_width;
};

// resample_output is the taps of one output: the inputs [first, end) and their weights.
struct resample_output {
  int first, end;
  const int *weight;

  HG_METHOD resample_output(const int *taps, int outputs, int width, int i)
      : first(taps[i]), end(first + taps[outputs + i]), weight(taps + 2 * outputs + (i64)i * width) {}
};

HG_DEVICE u8 resample_byte(int sum) { return (u8)hg_least(hg_most(sum >> 22, 0), 255); }

HG_KERNEL(256, resample, u8 *dst, const u8 *bytes, const int *taps, const resample_image *images, resample_shape o) {
  HG_SHARED(u8, mid, [3][RESAMPLE_ROWS][RESAMPLE_COLUMNS]);
  int tile = (int)(blockIdx.x % o.tiles), band = (int)(blockIdx.x / o.tiles % o.bands);
  i64 n = blockIdx.x / o.tiles / o.bands;
  int line = (int)threadIdx.x / RESAMPLE_COLUMNS, column = (int)threadIdx.x % RESAMPLE_COLUMNS;
  int x = tile * RESAMPLE_COLUMNS + column, y = band * RESAMPLE_LINES + line;
  bool inside = x < o.w && y < o.h;
  u8 *pixel = dst + ((n * o.h + y) * o.w + x) * 3;
  resample_image image = images[n];
  if (image.height == 0) {
    if (inside) pixel[0] = pixel[1] = pixel[2] = 0;
    return;
  }
  const u8 *source = bytes + (i64)image.at * 16;
  const int *rows = taps + image.down_at;
  int from = image.height, to = 0; // the rows that the block needs
  for (int i = band * RESAMPLE_LINES; i < hg_least(o.h, (band + 1) * RESAMPLE_LINES); i++) {
    resample_output out(rows, o.h, image.down_width, i);
    if (out.first == out.end) continue;
    from = hg_least(from, out.first), to = hg_most(to, out.end);
  }
  // Threads outside the result take part in the last pixel's work, and write nothing.
  resample_output across(taps + image.across_at, o.w, image.across_width, hg_least(x, o.w - 1));
  resample_output down(rows, o.h, image.down_width, hg_least(y, o.h - 1));
  int sum[3] = {RESAMPLE_HALF, RESAMPLE_HALF, RESAMPLE_HALF};
  for (int top = from; top < to; top += RESAMPLE_ROWS) {
    int bottom = hg_least(to, top + RESAMPLE_ROWS);
    __syncthreads(); // the rows before have been read
    for (int i = top + line; i < bottom; i += RESAMPLE_LINES) {
      const u8 *p = source + ((i64)i * image.width + across.first) * 3;
      int v[3] = {RESAMPLE_HALF, RESAMPLE_HALF, RESAMPLE_HALF};
      for (int j = 0; j < across.end - across.first; j++, p += 3)
        for (int c = 0; c < 3; c++) v[c] += across.weight[j] * p[c];
      for (int c = 0; c < 3; c++) mid[c][i - top][column] = resample_byte(v[c]);
    }
    __syncthreads();
    for (int i = hg_most(down.first, top); i < hg_least(down.end, bottom); i++)
      for (int c = 0; c < 3; c++) sum[c] += down.weight[i - down.first] * mid[c][i - top][column];
  }
  if (inside)
    for (int c = 0; c < 3; c++) pixel[c] = resample_byte(sum[c]);
}
