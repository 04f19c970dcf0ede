// Kernels with the faults that check.cmake must find.

// finds: on_the_stack[^;]*: [0-9]+ bytes of stack
__global__ void on_the_stack(const int* index, float* values) {
  float own[1024];
  for (int i = 0; i < 1024; ++i) own[i] = values[i] + 1;
  for (int i = 0; i < 1024; ++i) values[i] = own[index[i] & 1023];
}

// finds: spilling[^;]*: [0-9]+ bytes of spill stores
// finds: spilling[^;]*: [0-9]+ bytes of spill loads
__global__ __launch_bounds__(1024, 2) void spilling(float* values) {
  float own[96];
#pragma unroll
  for (int i = 0; i < 96; ++i) own[i] = values[i * 1024 + threadIdx.x];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 96; ++i) values[i * 1024 + (threadIdx.x ^ 1)] = own[i] * own[95 - i];
}

// finds: many_registers[^;]*: [0-9]+ registers
__global__ __launch_bounds__(128) void many_registers(float* values) {
  float own[160];
#pragma unroll
  for (int i = 0; i < 160; ++i) own[i] = values[i * 128 + threadIdx.x];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 160; ++i) values[i * 128 + (threadIdx.x ^ 1)] = own[i];
}

// finds: much_shared[^;]*: 40960 bytes of shared memory
__global__ void much_shared(float* values, const int* from) {
  __shared__ float all[10240];
  for (int i = threadIdx.x; i < 10240; i += blockDim.x) all[i] = values[i];
  __syncthreads();
  for (int i = threadIdx.x; i < 10240; i += blockDim.x) values[i] = all[from[i]];
}

// finds: ptx: (atom|red)[.]
__global__ void any_order(float* sum, const float* values) { atomicAdd(sum, values[threadIdx.x]); }
