//go:build nvidia

package vendor

import (
	"slices"
	"testing"
	"time"

	"hgld/internal/dlopen"
	"hgld/train/device"
)

// h100 is the description of an H100 as cuDNN reads it from a driver.
const h100 = `{"deviceName": "NVIDIA H100 80GB HBM3", "deviceVer": 900, "driverVer": 13000, "cudaDeviceId": 0,
"pciDeviceId": 0, "multiProcessorCount": 132, "smCountOrigin": 0, "warpSize": 32, "regsPerBlock": 65536,
"maxRegistersPerSM": 65536, "maxCtasPerSM": 32, "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048,
"maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64], "maxSharedMemoryPerBlock": 49152,
"maxSharedMemoryPerBlockOptin": 232448, "oversizedSharedMemoryPerBlock": 0, "reservedSharedMemoryPerBlock": 1024,
"isTccDriver": 0, "supportCoopLaunch": 1, "smClockRateKHz": 1980000, "memClockRateKHz": 2619000,
"l2CacheSize": 52428800, "memoryBusWidth": 5120, "totalGlobalMem": 85017755648}`

// describing returns cuDNN with a description of an H100, for which it makes plans without a GPU.
func describing(t *testing.T) *dnn {
	t.Helper()
	if _, err := dlopen.Open("libcuda.so.1"); err != nil {
		t.Skip("cuDNN compiles no convolution without a libcuda.so.1; scripts/check_vendor makes one")
	}
	d, found := openDnn(find, anyDriver)
	if found.Err != nil {
		t.Fatal(found.Err)
	}
	if n := int(dlopen.Call(d.getVersion)); n < 90800 {
		t.Skipf("cuDNN %s takes no description of a GPU", found.Version)
	}
	s := &descriptors{d: d}
	card := s.new(ofDevice)
	set(s, card, deviceJSON, typeChar, []uint8(h100)...)
	s.finalize(card)
	if s.err != nil {
		t.Fatal(s.err)
	}
	t.Cleanup(func() {
		if err := s.free(); err != nil {
			t.Error(err)
		}
	})
	d.described = card
	return d
}

// resNet lists convolutions of a ResNet-50 at 224² and batch 256: the stem, a 3×3, and a projection
// with a stride.
func resNet() (all []Convolution) {
	for _, c := range []Convolution{
		{H: 224, C: 4, K: 64, R: 7, OutHeight: 112, StrideH: 2, PadH: 3},
		{H: 56, C: 64, K: 64, R: 3, OutHeight: 56, StrideH: 1, PadH: 1},
		{H: 56, C: 256, K: 512, R: 1, OutHeight: 28, StrideH: 2},
	} {
		c.N, c.W, c.S, c.OutWidth, c.StrideW, c.PadW = 256, c.H, c.R, c.OutHeight, c.StrideH, c.PadH
		c.DilationH, c.DilationW, c.Groups = 1, 1, 1
		c.AlignX, c.AlignW, c.AlignY, c.AlignResidual, c.AlignBias, c.AlignMask = 16, 16, 16, 16, 16, 16
		all = append(all, c)
	}
	return all
}

// The real library has a plan for an H100 that we take, deterministic and within the workspace, for
// every convolution of a ResNet-50 and for every epilogue that we fuse. A mask in F32 is left to our kernels:
// version 9.10 applies it with TF32 alone.
func TestRealCuDNNPlansAResNetForAnH100(t *testing.T) {
	d := describing(t)
	for _, shape := range resNet() {
		for _, dtype := range []device.DType{device.BF16, device.F32} {
			shape.Type = dtype
			for _, c := range []Convolution{
				{Kind: Forward}, {Kind: Forward, Bias: true, ReLU: true}, {Kind: Forward, Bias: true},
				{Kind: Forward, Bias: true, ReLU: true, Residual: true},
				{Kind: GradX}, {Kind: GradX, Add: true}, {Kind: GradX, Mask: true}, {Kind: GradX, Mask: true, Residual: true},
			} {
				if !plans(t, d, shape, c) && !(dtype == device.F32 && c.Mask) {
					t.Errorf("no plan for %+v with the epilogue of %+v", shape, c)
				}
			}
			if !plans(t, d, shape, Convolution{Kind: GradW}) {
				t.Errorf("no plan for the gradient by w of %+v", shape)
			}
		}
	}
}

// The gradient by what an MLP's activation gave has a plan that multiplies it by the slope, as a 1×1 convolution's: of
// a ViT-B, of its class tokens alone, and of a DeiT-S.
func TestRealCuDNNPlansProductsWithAFactorForAnH100(t *testing.T) {
	d := describing(t)
	for _, c := range []Convolution{{N: 50432, K: 768, C: 3072}, {N: 256, K: 768, C: 3072}, {N: 50432, K: 384, C: 1536}} {
		c.Type, c.H, c.W, c.R, c.S, c.OutHeight, c.OutWidth = device.BF16, 1, 1, 1, 1, 1, 1
		c.StrideH, c.StrideW, c.DilationH, c.DilationW, c.Groups = 1, 1, 1, 1, 1
		c.AlignX, c.AlignW, c.AlignY, c.AlignMask = 16, 16, 16, 16
		if !plans(t, d, c, Convolution{Kind: GradX, Factor: true}) {
			t.Errorf("no plan for %v", c)
		}
	}
}

// The patches of a DeiT-S have a plan, too.
func TestRealCuDNNPlansADeiTForAnH100(t *testing.T) {
	d := describing(t)
	c := Convolution{Type: device.BF16, N: 256, H: 224, W: 224, C: 4, K: 384, R: 16, S: 16, OutHeight: 14, OutWidth: 14,
		StrideH: 16, StrideW: 16, DilationH: 1, DilationW: 1, Groups: 1,
		AlignX: 16, AlignW: 16, AlignY: 16, AlignResidual: 16, AlignBias: 16, AlignMask: 16}
	if !plans(t, d, c, Convolution{Kind: Forward, Bias: true}) {
		t.Error("no plan")
	}
}

// The JSON of a plan holds its compiled code: the real library makes the plan again in a hundredth of the time.
func TestRealCuDNNMakesKeptPlansAgain(t *testing.T) {
	d := describing(t)
	d.kept = planStore{dir: t.TempDir(), card: "h100"}
	fused, back := resNet()[1], resNet()[1]
	fused.Type, fused.Bias, fused.ReLU = device.BF16, true, true
	back.Type, back.Kind, back.Mask, back.Residual = device.BF16, GradX, true, true
	graphs := []Graph{fused, back}
	if (&Libraries{dnn: d}).PlansAttention() {
		graphs = append(graphs, Attention{Gradient: true, Images: 64, Tokens: 197, Heads: 12, Size: 64})
	}
	for _, shape := range graphs {
		var took [2]time.Duration
		var made [2]*graphPlan
		for i := range made {
			clear(d.plans)
			clear(kept.plans) // so that the file is read
			began := time.Now()
			made[i] = d.planned(shape)
			took[i] = time.Since(began)
			if made[i].err != nil {
				t.Fatal(made[i].err)
			}
			if err := made[i].made.free(); err != nil {
				t.Error(err)
			}
		}
		t.Logf("%s: compiled in %v, from its file in %v", shape, took[0].Round(time.Millisecond),
			took[1].Round(time.Millisecond))
		if made[0].String() != made[1].String() || !slices.Equal(made[0].tensors, made[1].tensors) || took[1] > took[0]/4 {
			t.Errorf("%s, then %s, after %v and %v", made[0], made[1], took[0], took[1])
		}
	}
}

// plans reports whether a shape with the epilogue of c has a plan.
func plans(t *testing.T, d *dnn, shape, c Convolution) bool {
	t.Helper()
	shape.Kind = c.Kind
	shape.Residual, shape.Bias, shape.ReLU, shape.Add = c.Residual, c.Bias, c.ReLU, c.Add
	shape.Mask, shape.Factor = c.Mask, c.Factor
	p := d.planned(shape)
	t.Logf("%s: %s", shape, p)
	if p.err == nil && (shape.Type == device.BF16) != slices.Contains(p.notes, noteTensorCore) {
		t.Errorf("%s: the notes are %s", shape, notesText(p.notes))
	}
	if p.err == nil && p.workspace > MostWorkspace {
		t.Errorf("%+v: a workspace of %d bytes", shape, p.workspace)
	}
	if err := p.made.free(); err != nil {
		t.Error(err)
	}
	return p.err == nil
}

// The real library has a plan for an H100 for the attention of a ViT-B and a DeiT-S, and for its gradient in parts
// whose workspace is what Within assumes.
func TestRealCuDNNPlansAttentionForAnH100(t *testing.T) {
	d := describing(t)
	if !(&Libraries{dnn: d}).PlansAttention() {
		t.Logf("version %d has no attention that we take", d.version)
		return
	}
	for _, a := range []Attention{
		{Images: 256, Tokens: 197, Heads: 12, Size: 64}, {Images: 256, Tokens: 197, Heads: 6, Size: 64},
		{Images: 33, Tokens: 257, Heads: 16, Size: 80},
	} {
		for _, a.Gradient = range []bool{false, true} {
			part, _ := a.Within()
			p := d.planned(part)
			t.Logf("%s: %s", part, p)
			if p.err != nil || !slices.Contains(p.notes, noteTensorCore) {
				t.Errorf("%s: %s", part, p)
			}
			if err := p.made.free(); err != nil {
				t.Error(err)
			}
		}
	}
}
