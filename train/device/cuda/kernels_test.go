package cuda_test

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/train/device"
	"hgld/train/device/cuda"
)

// archived returns the files of the archive and the PTX of the modules.
func archived(t *testing.T) (files map[string][]byte, modules map[string]string) {
	t.Helper()
	files, err := cuda.Archived()
	must.Do(t, err)
	modules, err = cuda.PTX()
	if err != nil || len(modules) < 40 {
		t.Fatalf("%d modules, %v", len(modules), err)
	}
	return files, modules
}

// The machine code is made from the PTX beside it, by the ptxas whose loops and registers are reported.
func TestMachineCodeIsOfTheCommittedPTX(t *testing.T) {
	files, modules := archived(t)
	sources := string(files["sources"])
	for name, text := range modules {
		if want := fmt.Sprintf("%x  %s.ptx\n", sha256.Sum256([]byte(text)), name); !strings.Contains(sources, want) {
			t.Errorf("%s is newer than the machine code: go generate ./train/device/cuda", name)
		}
	}
	if n := strings.Count(sources, "\n"); n != 1+len(modules) || !strings.HasPrefix(sources, "Build cuda_12.9.") {
		t.Errorf("the machine code is of %d modules, the PTX of %d:\n%s", n-1, len(modules), sources)
	}
	if want := 1 + 7*len(modules); len(files) != want {
		t.Errorf("%d files, want %d", len(files), want)
	}
}

// Every kernel is there for every architecture, with the parameters of the PTX.
func TestMachineCodeHasEveryKernel(t *testing.T) {
	files, modules := archived(t)
	entry := regexp.MustCompile(`\.entry (\w+)\(([^)]*)\)`)
	for module, text := range modules {
		for _, sm := range []int{80, 86, 89, 90, 100, 120} {
			name := fmt.Sprintf("sm_%d/%s", sm, module)
			code := files[name]
			if len(code) < 64 {
				t.Fatalf("there is no %s", name)
			}
			binary.LittleEndian.PutUint32(code[20:], 1) // e_version, in which the package expects no flags
			f, err := elf.NewFile(bytes.NewReader(code))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			kernels := entry.FindAllStringSubmatch(text, -1)
			for _, k := range kernels {
				want := strings.Count(k[2], ".param")
				if got := parametersOf(t, f, k[1]); got != want {
					t.Errorf("%s: %s has %d parameters, in the PTX %d", name, k[1], got, want)
				}
			}
			if len(kernels) == 0 {
				t.Errorf("%s has no kernels", module)
			}
		}
	}
}

// parametersOf counts the parameters that machine code says a kernel has; −1 without the kernel.
func parametersOf(t *testing.T, f *elf.File, kernel string) int {
	t.Helper()
	const parameter = 0x1704 // EIATTR_KPARAM_INFO, with a value of as many bytes as the next two bytes say
	info := f.Section(".nv.info." + kernel)
	if info == nil || f.Section(".text."+kernel) == nil {
		return -1
	}
	data, err := info.Data()
	must.Do(t, err)
	n := 0
	for len(data) >= 4 {
		size := 4
		if data[0] == 4 { // the value follows; in others it is in the record
			size += int(binary.LittleEndian.Uint16(data[2:]))
		}
		if binary.LittleEndian.Uint16(data) == parameter {
			n++
		}
		data = data[size:]
	}
	return n
}

// Code runs on later GPUs of its generation, and on no others.
func TestMachineCodeSuitsTheCard(t *testing.T) {
	for _, c := range []struct {
		major, minor int
		want         string
	}{{8, 0, "sm_80"}, {8, 6, "sm_86"}, {8, 7, "sm_86"}, {8, 9, "sm_89"}, {9, 0, "sm_90"}, {10, 0, "sm_100"},
		{10, 3, "sm_100"}, {12, 0, "sm_120"}, {12, 1, "sm_120"}, {7, 5, ""}, {11, 0, ""}, {13, 0, ""}} {
		modules, arch, err := cuda.Cubins(c.major, c.minor)
		if err != nil || arch != c.want || (len(modules) == 0) != (c.want == "") {
			t.Errorf("%d.%d has %d modules for %q, %v; want %q", c.major, c.minor, len(modules), arch, err, c.want)
		}
	}
}

// An old driver refuses the format of the machine code. Then it compiles the PTX.
func TestRefusedMachineCodeIsReplacedByPTX(t *testing.T) {
	for _, x := range []struct{ fail, arch string }{
		{"", "sm_80"}, {"cuModuleLoadDataEx:1:200", ""}, {"cuModuleLoadDataEx:1:209", ""}, {"cuModuleLoadDataEx:1:222", ""},
	} {
		c := open(t)
		ones := device.New(c, device.F32, 1<<10)
		if x.fail != "" {
			c.emulator.Fail(x.fail)
		}
		c.Fill(ones, 1)
		if err := c.Sync(); err != nil || c.Arch() != x.arch {
			t.Errorf("%q: %v, the machine code is for %q, want %q", x.fail, err, c.Arch(), x.arch)
		}
	}
}
