package emu

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"hgld/internal/dlopen"
	"hgld/internal/testing/goldens"
)

// imitations maps NVIDIA's libraries to the sources of their imitations.
var imitations = map[string]string{
	"libcublasLt.so.12": "cublaslt.cc", "libcudnn.so.9": "cudnn.cc", "libnccl.so.2": "nccl.cc",
}

// BuildVendor compiles the imitations of cuBLASLt, cuDNN and NCCL, which check how they are called and
// compute on the emulator's memory. It returns their folder, which HGLD_CUDA_LIBS must list
// behind that of Build.
func BuildVendor(t testing.TB) string {
	t.Helper()
	c, err := findCompiler(func(compiler) bool { return true })
	require(t, err)
	dir, err := c.imitations()
	if err != nil {
		t.Fatalf("imitations of NVIDIA's libraries: %v", err)
	}
	return dir
}

// imitations returns the folder of the libraries in the cache.
func (c compiler) imitations() (dir string, err error) {
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(goldens.Root(), "train", "device", "testing", "emu", "vendor")
	sum := sha256.New()
	fmt.Fprintln(sum, c.path, c.version, c.flags(false), dnnGraph)
	for _, name := range []string{"imitation.h", "cublaslt.cc", "cudnn.cc", "nccl.cc"} {
		if err := addFile(sum, filepath.Join(folder, name)); err != nil {
			return "", err
		}
	}
	dir = filepath.Join(cache, hex.EncodeToString(sum.Sum(nil))[:16])
	if _, err := os.Stat(dir); err == nil {
		return dir, touch(dir)
	}
	lock, err := acquire(filepath.Join(cache, "lock"))
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if _, err := os.Stat(dir); err == nil {
		return dir, nil // another process built them while we waited
	}
	work, err := os.MkdirTemp(cache, "build-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	for name, source := range imitations {
		args := append(c.flags(false), "-shared", "-Wl,-soname,"+name, filepath.Join(folder, source), "-o",
			filepath.Join(work, name))
		if err := c.run(args); err != nil {
			return "", err
		}
	}
	if err := os.Symlink("libcudnn.so.9", filepath.Join(work, dnnGraph)); err != nil {
		return "", err
	}
	return dir, os.Rename(work, dir)
}

// dnnGraph is the part of cuDNN that the real one loads in its first call.
const dnnGraph = "libcudnn_graph.so.9"

// Vendor reads what the imitations in a folder from BuildVendor observed in this process.
type Vendor struct {
	complaints [3]func() string
	alive      [3]func() int32
	queued     [3]func() int32
	built      func() int32
	cores      func(on int32)
}

// OpenVendor returns the observations of the imitations in a folder. The emulator must be open.
func OpenVendor(t testing.TB, folder string) *Vendor {
	t.Helper()
	v := &Vendor{}
	for i, l := range []struct{ file, prefix string }{
		{"libcublasLt.so.12", "hgBlas"}, {"libcudnn.so.9", "hgDnn"}, {"libnccl.so.2", "hgNccl"},
	} {
		lib, err := dlopen.Open(filepath.Join(folder, l.file))
		if err != nil {
			t.Fatal(err)
		}
		for name, fn := range map[string]any{
			"Complaints": &v.complaints[i], "Alive": &v.alive[i], "Queued": &v.queued[i],
		} {
			if err := lib.Bind(fn, l.prefix+name); err != nil {
				t.Fatal(err)
			}
		}
		if l.prefix == "hgDnn" {
			for name, fn := range map[string]any{"hgDnnCores": &v.cores, "hgDnnBuilt": &v.built} {
				if err := lib.Bind(fn, name); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return v
}

// WithoutTensorCores makes no algorithm of cuDNN use tensor cores until the end of a test.
func (v *Vendor) WithoutTensorCores(t testing.TB) {
	v.cores(0)
	t.Cleanup(func() { v.cores(1) })
}

// Complaints returns the wrong calls so far, one a line.
func (v *Vendor) Complaints() string {
	return v.complaints[0]() + v.complaints[1]() + v.complaints[2]()
}

// Alive returns the number of objects that were made and not destroyed.
func (v *Vendor) Alive() int { return int(v.alive[0]() + v.alive[1]() + v.alive[2]()) }

// Products and Convolutions return how many were queued so far.
func (v *Vendor) Products() int { return int(v.queued[0]()) }

// Planned returns how many plans cuDNN has compiled so far.
func (v *Vendor) Planned() int { return int(v.built()) }

// Convolutions counts as Products does.
func (v *Vendor) Convolutions() int { return int(v.queued[1]()) }

// Collectives counts the collective operations in the same way.
func (v *Vendor) Collectives() int { return int(v.queued[2]()) }
