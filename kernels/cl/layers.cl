// What a network does beside multiplying. Values are floats; images lie channel by channel, in a channel
// image by image, each row by row: (channel, image, y, x) is at
//
//   ((channel * images + image) * height + y) * width + x
//
// so that the images' pixels are the columns of one matrix whose rows are the channels.

// Columns of a convolution: each pixel that comes out has one, the values that its filter sees, with
// zeros where that reaches beyond the image. B holds those of `count` images from `first` on:
//
//              image first          image first + 1
//            pixel 0  1  2 ...      pixel 0  1  2 ...
//   row      (channel, filter y, filter x), in this order
//
// A work-item writes what all of the filter sees of one channel. Work-items: pixels along x, along y, and
// images of a channel, channel after channel.
kernel void columns(global const float *in, global float *b, uint images, uint first, uint count,
                    uint height, uint width, uint filter_height, uint filter_width,
                    uint stride_y, uint stride_x, uint padding_y, uint padding_x,
                    uint out_height, uint out_width, uint channels) {
  const uint out_x = get_global_id(0), out_y = get_global_id(1);
  const uint channel = get_global_id(2) / count, image = get_global_id(2) % count;
  if (out_x >= out_width || out_y >= out_height || channel >= channels)
    return;
  const ulong pixels = (ulong)out_height * out_width;
  const ulong row = (ulong)channel * filter_height * filter_width;
  global const float *from = in + ((ulong)channel * images + first + image) * height * width;
  global float *to = b + (row * count + image) * pixels + (ulong)out_y * out_width + out_x;
  for (uint filter_y = 0; filter_y < filter_height; ++filter_y)
    for (uint filter_x = 0; filter_x < filter_width; ++filter_x) {
      // What lies before the image wraps around to beyond its end.
      const uint x = out_x * stride_x + filter_x - padding_x;
      const uint y = out_y * stride_y + filter_y - padding_y;
      *to = x < width && y < height ? from[(ulong)y * width + x] : 0.0f;
      to += count * pixels;
    }
}

// Add a bias of each row, or of each column, to a matrix; with `relu` what is negative becomes zero (NaN
// stays). Work-items: columns, rows.
kernel void bias(global float *values, global const float *biases, uint rows, ulong columns, uint by_row,
                 uint relu) {
  const ulong column = get_global_id(0);
  const uint row = get_global_id(1);
  if (row >= rows || column >= columns)
    return;
  const ulong at = row * columns + column;
  const float value = values[at] + biases[by_row ? row : column];
  values[at] = relu && value < 0.0f ? 0.0f : value;
}

// The largest of each `window` by `window` values, which do not overlap; what is left over at the edges
// goes. Result (channel, image, y, x) is at
//
//   channel * channel_stride + image * image_stride + y * out_width + x
//
// NaN is the largest of all. Work-items: x, y, and images of a channel, channel after channel.
kernel void pool(global const float *in, global float *out, uint images, uint planes, uint height,
                 uint width, uint window, uint out_height, uint out_width, ulong channel_stride,
                 ulong image_stride) {
  const uint out_x = get_global_id(0), out_y = get_global_id(1), plane = get_global_id(2);
  if (out_x >= out_width || out_y >= out_height || plane >= planes)
    return;
  global const float *from = in + (ulong)plane * height * width;
  from += (ulong)out_y * window * width + out_x * window;
  float most = *from;
  for (uint y = 0; y < window; ++y)
    for (uint x = 0; x < window; ++x) {
      const float value = from[(ulong)y * width + x];
      most = value > most || isnan(value) ? value : most;
    }
  const ulong channel = plane / images, image = plane % images;
  out[channel * channel_stride + image * image_stride + (ulong)out_y * out_width + out_x] = most;
}
