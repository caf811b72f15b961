package cuda_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"hgld/internal/testing/must"
	"hgld/train/device"
	"hgld/train/device/cuda"
)

func TestNoSuchCard(t *testing.T) {
	emulated(t)
	r, err := cuda.Probe()
	must.Do(t, err)
	n := len(r.Cards)
	if _, err := cuda.Open(n); !errors.Is(err, cuda.ErrNoCard) || !strings.Contains(err.Error(), fmt.Sprint("GPU ", n)) {
		t.Errorf("got %v", err)
	}
}

func TestProbeDescribesTheCard(t *testing.T) {
	emulated(t)
	r, err := cuda.Probe()
	must.Do(t, err)
	if len(r.Cards) == 0 || r.Version < 11080 || r.Driver == "" || r.Free(0) <= 0 {
		t.Errorf("got %+v", r)
	}
}

// A context takes a few hundred milliseconds and MB on each of a machine's GPUs, so only what
// needs one makes one.
func TestCardsAreFoundWithoutAContext(t *testing.T) {
	c := open(t)
	c.emulator.Fail("cuDevicePrimaryCtxRetain:1")
	r, err := cuda.Probe()
	must.Do(t, err)
	if free := r.Free(0); free != -1 {
		t.Errorf("the first context is not that of Free, which returned %d", free)
	}
}

// The first kernel would fail otherwise, in the middle of a run.
func TestDriverOlderThanThePTXIsRefused(t *testing.T) {
	c := open(t)
	c.emulator.Version(11040)
	for name, err := range map[string]error{
		"Probe": func() error { _, err := cuda.Probe(); return err }(),
		"Open":  func() error { _, err := cuda.Open(0); return err }(),
	} {
		if !errors.Is(err, cuda.ErrNoCard) || errors.Is(err, device.ErrNoGPU) ||
			!strings.Contains(err.Error(), "the driver supports CUDA 11.4 (11040), and the kernels need 11.5 (11050)") {
			t.Errorf("%s: %v", name, err)
		}
	}
	c.emulator.Version(cuda.LeastDriver)
	if _, err := cuda.Probe(); err != nil {
		t.Error(err)
	}
	modules, err := cuda.PTX()
	if err != nil || len(modules) == 0 {
		t.Fatal(err)
	}
	want := fmt.Sprintf("\n.version 7.%d\n", cuda.LeastDriver%1000/10) // PTX 7.n is that of CUDA 11.n
	for name, text := range modules {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not of %q", name, want)
		}
	}
}

// twice fails the loading of a kernel's machine code and of its PTX.
func twice(code int) string {
	return fmt.Sprintf("cuModuleLoadDataEx:1:%d,cuModuleLoadDataEx:2:%d", code, code)
}

// auto says why it does not use a GPU that is there, and computes in silence where there is none.
func TestErrorOfAPresentCardIsNotThatOfAnAbsentOne(t *testing.T) {
	c := open(t)
	none, card := t.TempDir(), t.TempDir()
	must.Do(t, os.Mkdir(filepath.Join(card, "0000:01:00.0"), 0o755))
	for _, x := range []struct {
		code    int
		cards   string // what the kernel's driver lists
		visible string // CUDA_VISIBLE_DEVICES; "": unset
		absent  bool
		advice  string
	}{
		{802, none, "", false, "nvidia-fabricmanager"},
		{803, none, "", false, "restart the machine"},
		{999, none, "", false, "nvidia_uvm"},
		{46, none, "", false, "nvidia-smi -c DEFAULT"},
		{100, none, "", true, "install NVIDIA's driver for CUDA 11.5 or newer"},
		{34, none, "", true, "install NVIDIA's driver"},
		{100, card, "", false, "install NVIDIA's driver"},
		{100, card, "-1", true, "install NVIDIA's driver"},
	} {
		t.Run(fmt.Sprint(x.code, " ", x.absent), func(t *testing.T) {
			if x.visible == "" {
				t.Setenv("CUDA_VISIBLE_DEVICES", "") // so that it is restored
				os.Unsetenv("CUDA_VISIBLE_DEVICES")
			} else {
				t.Setenv("CUDA_VISIBLE_DEVICES", x.visible)
			}
			cuda.KernelCards(t, x.cards)
			c.emulator.Fail(fmt.Sprint("cuInit:1:", x.code))
			_, err := cuda.Probe()
			if !errors.Is(err, cuda.ErrNoCard) || !strings.Contains(err.Error(), "cuInit: ") {
				t.Errorf("got %v", err)
			}
			if errors.Is(err, device.ErrNoGPU) != x.absent {
				t.Errorf("absent is %v: %v", !x.absent, err)
			}
			if got := cuda.Advice(err); !strings.Contains(got, x.advice) {
				t.Errorf("the advice is %q", got)
			}
		})
	}
}

// idle is a driver that runs no kernel.
type idle struct{ cuda.Driver }

func (idle) Launch(cuda.Function, [3]uint32, [3]uint32, int, cuda.Stream, unsafe.Pointer) error {
	return nil
}

// retained is a driver that counts the contexts that are held.
type retained struct {
	cuda.Driver
	n *int
}

func (r retained) Retain(ordinal int) (cuda.Context, error) {
	*r.n++
	return r.Driver.Retain(ordinal)
}

func (r retained) Release(ordinal int) error {
	*r.n--
	return r.Driver.Release(ordinal)
}

func TestCardThatCannotBeOpenedIsReleased(t *testing.T) {
	c := open(t)
	drv, _, err := cuda.OpenDriver()
	must.Do(t, err)
	n := 0
	for _, call := range []string{"cuCtxSetCurrent", "cuStreamCreate"} {
		c.emulator.Fail(call + ":1:999")
		if _, err := cuda.OpenWith(retained{drv, &n}, 0); err == nil || !strings.Contains(err.Error(), call) || n != 0 {
			t.Errorf("%s: %v, and %d contexts are held", call, err, n)
		}
	}
}

func TestTryFindsACardThatDoesNotCompute(t *testing.T) {
	c := open(t)
	r, err := cuda.Probe()
	must.Do(t, err)
	if arch, err := r.Try(0); err != nil || arch != "sm_80" {
		t.Fatal(arch, err)
	}
	drv, _, err := cuda.OpenDriver()
	must.Do(t, err)
	b, err := cuda.OpenWith(idle{drv}, 0)
	must.Do(t, err)
	defer b.Close()
	if err := b.TryKernel(); err == nil || !strings.Contains(err.Error(), "should have written 0.75") {
		t.Errorf("a kernel that did not run: %v", err)
	}
	for _, x := range []struct{ fail, want, advice string }{
		{"cuDevicePrimaryCtxRetain:1:46", "CUDA_ERROR_DEVICE_UNAVAILABLE", "nvidia-smi -c DEFAULT"},
		{twice(221), "cuModuleLoadDataEx: CUDA_ERROR_JIT_COMPILER_NOT_FOUND", "libnvidia-ptxjitcompiler"},
		{twice(222), "cuModuleLoadDataEx: CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "newer driver"},
		{twice(223), "cuModuleLoadDataEx: CUDA_ERROR_JIT_COMPILATION_DISABLED", "CUDA_DISABLE_PTX_JIT"},
		{"cuLaunchKernel:1:999", "Fill: cuLaunchKernel: CUDA_ERROR_UNKNOWN", "nvidia_uvm"},
	} {
		c.emulator.Fail(x.fail)
		_, err := r.Try(0)
		if err == nil || !strings.Contains(err.Error(), x.want) || !strings.Contains(cuda.Advice(err), x.advice) {
			t.Errorf("%s: %v; %s", x.fail, err, cuda.Advice(err))
		}
	}
}
