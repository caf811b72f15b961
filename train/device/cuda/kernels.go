package cuda

import (
	"archive/tar"
	"bytes"
	_ "embed" // for the archive
	"errors"
	"fmt"
	"io"
	"iter"
	"path"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// archive holds the kernels, one module for each .cu file: ptx/matmul.ptx for the driver's compiler, and sm_90/matmul
// as machine code for compute capability 9.0. scripts/build_ptx makes it, and leaves out machine code of other PTX, so
// that a kernel is never older than its PTX. The driver would compile all PTX for 13 to 21 s of one core in the first
// command on each machine, and in each new container: that is why there is machine code, too.
//
//go:embed kernels.tar.zst
var archive []byte

// packed is a file of the archive.
type packed struct {
	name string
	io.Reader
}

// archived returns the files of the archive. Nothing follows an error.
func archived() iter.Seq2[packed, error] {
	return func(yield func(packed, error) bool) {
		d, err := zstd.NewReader(bytes.NewReader(archive), zstd.WithDecoderConcurrency(1))
		if err != nil {
			yield(packed{}, err)
			return
		}
		defer d.Close()
		for files := tar.NewReader(d); ; {
			h, err := files.Next()
			switch {
			case errors.Is(err, io.EOF):
				return
			case err != nil:
				yield(packed{}, fmt.Errorf("the packed kernels: %w", err))
				return
			case !yield(packed{h.Name, files}, nil):
				return
			}
		}
	}
}

// PTX returns the PTX of the modules by name.
func PTX() (map[string]string, error) {
	modules := map[string]string{}
	for f, err := range archived() {
		if err != nil {
			return nil, err
		}
		name, is := strings.CutPrefix(f.name, "ptx/")
		if !is {
			if len(modules) > 0 { // it comes before the machine code
				break
			}
			continue
		}
		text, err := io.ReadAll(f)
		if err != nil {
			return nil, err
		}
		modules[strings.TrimSuffix(name, ".ptx")] = string(text)
	}
	return modules, nil
}

// cubins returns the machine code for a compute capability, by module, and the architecture that it
// is made for. Code for x.y also runs on x.z with z > y; the largest y is returned. Without
// suitable code the map is empty.
func cubins(major, minor int) (modules map[string][]byte, arch string, err error) {
	best := -1
	for f, err := range archived() {
		if err != nil {
			return nil, "", err
		}
		of, module := path.Split(f.name)
		var sm int
		if _, err := fmt.Sscanf(of, "sm_%d/", &sm); err != nil || sm/10 != major || sm%10 > minor || sm < best {
			continue
		}
		if sm > best {
			best, arch, modules = sm, strings.TrimSuffix(of, "/"), map[string][]byte{}
		}
		if modules[module], err = io.ReadAll(f); err != nil {
			return nil, "", err
		}
	}
	return modules, arch, nil
}

// load loads a module: the machine code for the GPU, or, if there is none or the driver refuses it
// (one that is older than the code's format does), the PTX, which the driver compiles for seconds
// and keeps.
func (b *Backend) load(module string) (Module, error) {
	var err error
	if !b.unpacked {
		b.unpacked = true
		if b.cubins, b.arch, err = cubins(b.card.Major, b.card.Minor); err != nil {
			return 0, err
		}
	}
	if code := b.cubins[module]; code != nil {
		m, err := b.drv.Load(code)
		var e *Error
		if err == nil || errors.As(err, &e) && e.Code == codeOutOfMemory {
			return m, err
		}
		b.cubins, b.arch = nil, ""
	}
	if b.ptx == nil {
		if b.ptx, err = PTX(); err != nil {
			return 0, err
		}
	}
	return b.drv.Load([]byte(b.ptx[module]))
}
