package cuda

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"

	"hgld/train/device"
)

// Report describes the driver and the GPUs of a machine.
type Report struct {
	Driver  string // path of the library, or the name of the built-in driver
	Version int    // CUDA version that it supports: 12040 is 12.4
	Cards   []Card // all GPUs that the driver lists

	drv Driver
}

// First returns the first usable GPU. Without an error, a report has one.
func (r Report) First() Card {
	for _, c := range r.Cards {
		if c.Usable() {
			return c
		}
	}
	return Card{}
}

// Usable returns the numbers of the usable GPUs.
func (r Report) Usable() (list []int) {
	for _, c := range r.Cards {
		if c.Usable() {
			list = append(list, c.Ordinal)
		}
	}
	return list
}

// Free returns the unused bytes of Cards[i], or −1 if they are unknown. It makes a context on the
// GPU, which takes a few hundred milliseconds and as many MB of the GPU's memory.
func (r Report) Free(i int) int { return freeMemory(r.drv, r.Cards[i].Ordinal) }

// Try loads a kernel on Cards[i], runs it and reads its result. A driver that makes a context may still
// lack its compiler. arch is what the kernel's machine code is made for, such as sm_90; it is empty if
// the driver compiles the kernels.
func (r Report) Try(i int) (arch string, err error) {
	b, err := OpenWith(r.drv, r.Cards[i].Ordinal)
	if err != nil {
		return "", err
	}
	if err := b.try(); err != nil {
		b.Close() // which would return the same error
		return "", err
	}
	return b.arch, b.Close()
}

// try fills an array and compares what comes back.
func (b *Backend) try() error {
	const n, value = 1000, 0.75
	x := device.New(b, device.F32, n)
	b.Fill(x, value)
	got := make([]byte, 4*n)
	if err := b.Wait(b.Download(got, x)); err != nil {
		return err
	}
	for i := 0; i < len(got); i += 4 {
		if v := math.Float32frombits(binary.NativeEndian.Uint32(got[i:])); v != value {
			return fmt.Errorf("cuda: a kernel ran and left %v where it should have written %v", v, value)
		}
	}
	return nil
}

// Probe looks for a driver and its GPUs, and makes no context on them. The error wraps ErrNoCard
// and says what is missing. The report still holds what was found.
func Probe() (Report, error) {
	drv, path, err := openDriver()
	if err != nil {
		return Report{}, fmt.Errorf("%w: %w", ErrNoCard, err)
	}
	r := Report{Driver: path, drv: drv}
	if r.Version, err = versionOf(drv); err != nil {
		return r, err
	}
	n, err := drv.Devices()
	if err != nil || n == 0 {
		err = fmt.Errorf("%w: the driver has no GPU%s", ErrNoCard, because(err))
		if nothingThere(err) {
			err = absentError{err}
		}
		return r, err
	}
	var unfit error
	for i := range n {
		card, err := drv.Device(i)
		if err != nil {
			return r, fmt.Errorf("%w: GPU %d: %w", ErrNoCard, i, err)
		}
		r.Cards = append(r.Cards, card)
		if err := card.fit(); err != nil {
			unfit = errors.Join(unfit, err)
		}
	}
	if r.First().Name != "" {
		return r, nil
	}
	return r, unfit
}

// versionOf returns the CUDA version of a driver, and an error if it cannot compile the kernels.
func versionOf(drv Driver) (int, error) {
	v, err := drv.Version()
	if err != nil {
		return v, fmt.Errorf("%w: %w", ErrNoCard, err)
	}
	if v < leastDriver {
		return v, fmt.Errorf("%w: the driver supports CUDA %s (%d), and the kernels need %s (%d) or newer",
			ErrNoCard, versionText(v), v, versionText(leastDriver), leastDriver)
	}
	return v, nil
}

// versionText writes 11050 as 11.5.
func versionText(v int) string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }

// absentError is an error where there is no GPU, so that nothing is amiss.
type absentError struct{ error }

func (e absentError) Unwrap() []error { return []error{e.error, device.ErrNoGPU} }

// kernelCards is where the kernel's driver lists the GPUs, one folder each.
var kernelCards = "/proc/driver/nvidia/gpus"

// nothingThere reports whether err means that there is no GPU for hgld: no library of a driver, or
// one without a GPU. If the kernel knows a GPU that is not hidden from hgld, the error is about
// that GPU.
func nothingThere(err error) bool {
	var e *Error
	if errors.As(err, &e) && e.Code != codeNoDevice && e.Code != codeStub || errors.Is(err, errOldLibrary) {
		return false
	}
	visible, set := os.LookupEnv("CUDA_VISIBLE_DEVICES")
	if set && (visible == "" || visible[0] == '-') {
		return true
	}
	cards, _ := os.ReadDir(kernelCards)
	return len(cards) == 0
}

// Advice says what helps against an error of Probe or of Report.Try.
func Advice(err error) string {
	var e *Error
	if errors.As(err, &e) && advice[e.Code] != "" {
		return advice[e.Code]
	}
	return fmt.Sprintf("to train on a GPU, install NVIDIA's driver for CUDA %s or newer; $%s lists folders to search",
		versionText(leastDriver), LibrariesVariable)
}

// advice has what helps against codes of the driver that are common on machines with a GPU.
var advice = map[int]string{
	46:  "another process has the GPU for itself; nvidia-smi -c DEFAULT lets processes share it",
	221: "libnvidia-ptxjitcompiler.so.1 is a part of NVIDIA's driver; a container needs all of the driver's libraries",
	222: "install a newer driver of NVIDIA's",
	223: "unset CUDA_DISABLE_PTX_JIT",
	802: "the links between the GPUs are not set up: start nvidia-fabricmanager, in the driver's version",
	803: "the driver in the kernel and libcuda.so.1 are of different versions: restart the machine",
	999: "often the kernel's module nvidia_uvm is missing: modprobe nvidia_uvm, or restart the machine",
}

func because(err error) string {
	if err == nil {
		return ""
	}
	return ": " + err.Error()
}

// fit returns an error if the kernels cannot run on a GPU.
func (c Card) fit() error {
	if c.Major >= leastMajor {
		return nil
	}
	return fmt.Errorf("%w: %s has compute capability %d.%d, at least %d.0 is needed (Ampere, 2020)",
		ErrNoCard, c.Name, c.Major, c.Minor, leastMajor)
}

// kind names what a compiled kernel depends on: two GPUs of a kind differ in their number alone.
func (c Card) kind() string {
	return fmt.Sprintf("%s, %d.%d, %d multiprocessors", c.Name, c.Major, c.Minor, c.Multiprocessors)
}

// Usable reports whether the kernels can run on the GPU.
func (c Card) Usable() bool { return c.fit() == nil }

// Precisions names the types that activations can have on the GPU.
func (c Card) Precisions() string {
	if c.Usable() { // the capability that the kernels need is the one that has bfloat16
		return "float32 and bfloat16"
	}
	return "no kernels for it"
}

// freeMemory returns the unused bytes of a GPU, or −1.
func freeMemory(drv Driver, ordinal int) int {
	ctx, err := drv.Retain(ordinal)
	if err != nil {
		return -1
	}
	defer drv.Release(ordinal)
	unpin := pin()
	defer unpin()
	if drv.SetCurrent(ctx) != nil {
		return -1
	}
	free, _, err := drv.MemInfo()
	if err != nil {
		return -1
	}
	return free
}
