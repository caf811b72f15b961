package cuda

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	_ "embed" // for the archive
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// cubinArchive holds the kernels as machine code: sm_90/matmul is module matmul for compute
// capability 9.0. Its file sources has the SHA-256 of the PTX of each module. scripts/build_cubin
// makes it.
//
//go:embed cubin/kernels.tar.zst
var cubinArchive []byte

// cubins returns the machine code for a compute capability, by module, and the architecture that it
// is made for. Code for x.y also runs on x.z with z > y; the largest y is returned. Without
// suitable code the map is empty.
//
// Modules whose PTX has changed since are left out, so that a kernel is never older than its PTX.
func cubins(major, minor int) (modules map[string][]byte, arch string, err error) {
	d, err := zstd.NewReader(bytes.NewReader(cubinArchive), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, "", err
	}
	defer d.Close()
	best, sources := -1, ""
	for files := tar.NewReader(d); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return modules, arch, nil
		}
		if err != nil {
			return nil, "", fmt.Errorf("the kernels' machine code: %w", err)
		}
		data, err := io.ReadAll(files)
		if err != nil {
			return nil, "", fmt.Errorf("the kernels' machine code: %w", err)
		}
		if h.Name == "sources" { // the first
			sources = string(data)
			continue
		}
		of, module := path.Split(h.Name)
		var sm int
		if _, err := fmt.Sscanf(of, "sm_%d/", &sm); err != nil || sm/10 != major || sm%10 > minor || sm < best {
			continue
		}
		if sm > best {
			best, arch, modules = sm, strings.TrimSuffix(of, "/"), map[string][]byte{}
		}
		if text, err := ptx.ReadFile("ptx/" + module + ".ptx"); err == nil &&
			strings.Contains(sources, fmt.Sprintf("%x  %s.ptx\n", sha256.Sum256(text), module)) {
			modules[module] = data
		}
	}
}

// load loads a module: the machine code for the card, or, if there is none or the driver refuses it
// (one that is older than the code's format does), the PTX, which the driver compiles for seconds
// and keeps.
func (b *Backend) load(module string) (Module, error) {
	if !b.unpacked {
		b.unpacked = true
		if b.tuning[kernelsPTX] == 0 {
			var err error
			if b.cubins, b.arch, err = cubins(b.card.Major, b.card.Minor); err != nil {
				return 0, err
			}
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
	image, err := ptx.ReadFile("ptx/" + module + ".ptx")
	if err != nil {
		return 0, err
	}
	return b.drv.Load(image)
}
