// Reads of constant banks of every kind, tables of pointers, calls, switches.
#include <cstdio>
#include <cassert>
#include <cuda_fp16.h>
__constant__ float coef[64]; __constant__ float4 c4[8]; __constant__ double cd[8]; __constant__ int one = 5;
__device__ int ga; __device__ float gb[16]; static __device__ double gc[3];
typedef float (*fp)(float);
__device__ __noinline__ float f1(float x){ return x * 2; } __device__ __noinline__ float f2(float x){ return x / 3; }
__device__ fp table[2]={f1,f2};
__global__ void k1(float*p,int n){ p[0]=coef[3]*p[1]+coef[5]; p[2]=coef[n]; p[3]=fmaf(p[4],coef[9],coef[10]); }
__global__ void k2(float4*p,double*d,int n){ p[0]=c4[2]; p[1]=c4[n]; p[2]=c4[threadIdx.x]; d[0]=cd[1]*d[1]; d[2]=cd[n+1]; d[3]=cd[threadIdx.x]*d[0];}
__global__ void k3(float*p,int n){ ga++; gb[n]=p[0]; gc[n&1]+=p[1]; p[2]=table[n&1](p[3]); printf("k3 %d %f\n",n,p[2]); printf("other"); if(n==one) __trap(); }
__global__ void k4(half2*p,int n){ half2 a=p[n]; for(int i=0;i<n;i++) a=__hfma2(a,p[i],p[i+one]); p[0]=a; switch(n){case 0:p[1]=a;break;case 1:p[2]=a;break;case 2:p[3]=__hadd2(a,a);break;case 3:p[7]=a;break;case 4:p[8]=__hmul2(a,a);break;case 5: p[9]=a;} assert(n<9);}
template<int N> __global__ void k5(int*p){ int a[N]; for(int i=0;i<N;i++) a[i]=p[i]+(i^one); for(int i=0;i<N;i++) a[i]+=a[(i*5+1)%N]%(i+3)+((int*)coef)[i]; for(int i=0;i<N;i++) p[i]=a[i]; }
template __global__ void k5<3>(int*); template __global__ void k5<17>(int*); template __global__ void k5<40>(int*);
