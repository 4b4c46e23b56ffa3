__global__ void __launch_bounds__(1024) spill(float*p){ float a[100]; 
#pragma unroll
for(int i=0;i<100;i++) a[i]=p[i*threadIdx.x]; 
__syncthreads();
for(int k=0;k<10;k++){
#pragma unroll
for(int i=0;i<100;i++) a[i]=a[i]*a[(i*7+3)%100]+p[i];
}
#pragma unroll
for(int i=0;i<100;i++) p[i*threadIdx.x]=a[i]; }
__global__ void bars(float*p){ asm volatile("bar.sync 3, 64;"); asm volatile("bar.sync 7, 64;"); p[0]=1; }
__global__ void dynbar(float*p, int b){ asm volatile("bar.sync %0, 64;"::"r"(b)); p[0]=1; }
__global__ void __launch_bounds__(64,4,8) lb3(float*p){ p[0]=1; }
extern "C" __global__ void __cluster_dims__(2,1,1) clus(float*p){ p[threadIdx.x]=threadIdx.x; }
__global__ void __block_size__((32,4,1)) bsz(float*p){ p[threadIdx.x]=threadIdx.x; }
