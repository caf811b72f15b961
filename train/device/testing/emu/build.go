// Package emu builds the emulator: a libcuda.so.1 that runs the CUDA backend's kernels on the
// CPU. The driver, the packing of arguments and the launches under test are the real ones.
// Only tests import it.
//
// The library's source is C++ in src. It compiles every .cu file of a folder with the same
// headers as clang does for a GPU, except platform*.h, which are in src. README.md describes
// what the library does and how to control it.
package emu

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"hgld/internal/filelock"
	"hgld/internal/testing/goldens"
	"hgld/train/device/cuda"
	"hgld/train/device/testing/emu/ptx"
)

// Build compiles the emulator with the kernels of train/device/cuda. It returns the library's
// folder, to which HGLD_CUDA_LIBS must be set. It reuses a library built from the same
// sources. Without a C++ compiler it skips the test, or fails it on CI. A test that starts a
// process with another build names that folder in HGLD_EMU_TEST_LIBS.
func Build(t testing.TB) string {
	t.Helper()
	if libs := os.Getenv("HGLD_EMU_TEST_LIBS"); libs != "" {
		return libs
	}
	return BuildFolder(t, kernelFolder())
}

// BuildFolder is Build with the kernels of another folder.
func BuildFolder(t testing.TB, folder string) string {
	t.Helper()
	return build(t, folder)
}

// BuildASan is BuildFolder with the address sanitizer. A process that opens the library needs
// LD_PRELOAD with the path preload, and ASAN_OPTIONS with detect_leaks=0, since Go's memory
// looks leaked to the sanitizer. A process built with Go's race detector cannot open the
// library, since their memory maps collide.
func BuildASan(t testing.TB, folder string) (libs, preload string) {
	t.Helper()
	c, err := findCompiler(compiler.hasASan)
	require(t, err)
	libs, err = c.library(folder, "*.cu", true)
	if err != nil {
		t.Fatalf("emulator: %v", err)
	}
	return libs, c.asanLibrary()
}

// BuildPTX is Build with kernels made from the committed PTX, which a GPU is given, instead of
// from its source. They report misaligned accesses and races, and are slower.
func BuildPTX(t testing.TB) string {
	t.Helper()
	modules, err := cuda.PTX()
	require(t, err)
	return BuildPTXOf(t, modules)
}

// BuildPTXOf is BuildPTX with the PTX of other modules.
func BuildPTXOf(t testing.TB, modules map[string]string) string {
	t.Helper()
	c, err := findCompiler(func(compiler) bool { return true })
	require(t, err)
	sources := t.TempDir()
	for name, text := range modules {
		source, err := ptx.Source(name+".ptx", text)
		if err == nil {
			err = os.WriteFile(filepath.Join(sources, name+".ptx.cc"), []byte(source), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	dir, err := c.library(sources, "*.ptx.cc", false)
	if err != nil {
		t.Fatalf("emulator: %v", err)
	}
	return dir
}

func build(t testing.TB, folder string) string {
	t.Helper()
	c, err := findCompiler(func(compiler) bool { return true })
	require(t, err)
	dir, err := c.library(folder, "*.cu", false)
	if err != nil {
		t.Fatalf("emulator: %v", err)
	}
	return dir
}

// require skips a test without a compiler, or fails it on CI, where a compiler must be
// present.
func require(t testing.TB, err error) {
	t.Helper()
	if err != nil && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// compiler is a C++ compiler.
type compiler struct {
	path    string
	version string // output of --version
	clang   bool
}

// findCompiler returns the first suitable compiler among $CXX, g++ and clang++.
func findCompiler(suits func(compiler) bool) (compiler, error) {
	if runtime.GOOS != "linux" || (runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64") {
		return compiler{}, fmt.Errorf("the emulator runs on Linux (amd64, arm64), this is %s/%s",
			runtime.GOOS, runtime.GOARCH)
	}
	without := ""
	for _, name := range []string{os.Getenv("CXX"), "g++", "clang++"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		version, err := exec.Command(path, "--version").Output()
		if err != nil {
			return compiler{}, fmt.Errorf("%s --version: %w", path, err)
		}
		c := compiler{path, string(version), bytes.Contains(version, []byte("clang"))}
		if suits(c) {
			return c, nil
		}
		without = path
	}
	if without != "" {
		return compiler{}, fmt.Errorf("%s has no address sanitizer; install g++ (Debian: apt-get install g++)", without)
	}
	return compiler{}, errors.New("no C++ compiler was found ($CXX, g++, clang++), " +
		"which the emulator of CUDA is built with; install g++ (Debian: apt-get install g++)")
}

// asanLibrary returns the path of the sanitizer's library, or "".
func (c compiler) asanLibrary() string {
	name := "libasan.so"
	if c.clang {
		arch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
		name = "libclang_rt.asan-" + arch + ".so"
	}
	out, err := exec.Command(c.path, "-print-file-name="+name).Output()
	path := strings.TrimSpace(string(out))
	if err != nil || !filepath.IsAbs(path) { // compilers print an unknown name unchanged
		return ""
	}
	return path
}

func (c compiler) hasASan() bool { return c.asanLibrary() != "" }

// flags returns the flags of every translation unit. They make arithmetic produce a GPU's
// bytes: no contraction, no reordering, and fma as one instruction.
func (c compiler) flags(asan bool) []string {
	flags := []string{"-std=c++17", "-O2", "-ffp-contract=off", "-fno-fast-math", "-fno-math-errno",
		"-fno-strict-aliasing", "-fPIC", "-fvisibility=hidden", "-g1"}
	if runtime.GOARCH == "amd64" {
		flags = append(flags, "-march=x86-64-v3")
	}
	if !c.clang {
		flags = append(flags, "-fno-gnu-unique")
	}
	if asan {
		flags = append(flags, "-fsanitize=address", "-DHG_ASAN")
	}
	return flags
}

// kernelFlags returns the flags of a file of kernels. An access at an address that the size of its
// type does not divide is an error on a GPU, and traps here.
func (c compiler) kernelFlags(asan bool) []string {
	return append(c.flags(asan), "-fsanitize=alignment", "-fsanitize-undefined-trap-on-error")
}

// unit is a file to compile.
type unit struct {
	source string
	flags  []string
	object string // named by a hash of its content, its headers and the flags
}

// library returns the folder of the library for the kernels of a folder, in the cache.
func (c compiler) library(folder, pattern string, asan bool) (dir string, err error) {
	folder, err = filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	units, err := c.units(cache, folder, pattern, asan)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	for _, u := range units {
		fmt.Fprintln(sum, u.object)
	}
	dir = filepath.Join(cache, hex.EncodeToString(sum.Sum(nil))[:16])
	if _, err := os.Stat(filepath.Join(dir, "libcuda.so.1")); err == nil {
		return dir, touch(dir)
	}
	lock, err := acquire(filepath.Join(cache, "lock"))
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if _, err := os.Stat(filepath.Join(dir, "libcuda.so.1")); err == nil {
		return dir, nil // another process built it while we waited
	}
	if err := prune(cache); err != nil {
		return "", err
	}
	if err := c.compile(dir, units, asan); err != nil {
		return "", err
	}
	return dir, nil
}

// cacheDir returns $HGLD_EMU_CACHE, by default hgld/emu in the user's cache.
func cacheDir() (string, error) {
	dir := os.Getenv("HGLD_EMU_CACHE")
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("no folder for the built library (set HGLD_EMU_CACHE): %w", err)
		}
		dir = filepath.Join(user, "hgld", "emu")
	}
	return dir, os.MkdirAll(dir, 0o755)
}

// acquire waits for the lock that excludes concurrent builds, as long as a build may take on a
// slow machine.
func acquire(path string) (*filelock.Lock, error) {
	for deadline := time.Now().Add(10 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		lock, err := filelock.Acquire(path)
		var held *filelock.LockedError
		if err == nil || !errors.As(err, &held) || time.Now().After(deadline) {
			return lock, err
		}
	}
}

// sourceFolder returns the folder of the library's own source.
func sourceFolder() string {
	return filepath.Join(goldens.Root(), "train", "device", "testing", "emu", "src")
}

// kernelFolder returns the folder of the CUDA backend, whose headers all kernels include.
func kernelFolder() string { return filepath.Join(goldens.Root(), "train", "device", "cuda") }

// units lists the sources of the library with the paths of their objects in the cache.
func (c compiler) units(cache, folder, pattern string, asan bool) ([]unit, error) {
	headers := []string{filepath.Join(kernelFolder(), "types.h")}
	var units []unit
	for _, group := range []struct {
		folder, pattern string
		headers         string // of the group and of those that follow
		flags           []string
	}{
		{sourceFolder(), "*.cc", sourceFolder(), c.flags(asan)},
		{folder, pattern, kernelFolder(), c.kernelFlags(asan)},
	} {
		more, err := filepath.Glob(filepath.Join(group.headers, "*.h"))
		if err != nil {
			return nil, err
		}
		headers = append(headers, more...)
		files, err := filepath.Glob(filepath.Join(group.folder, group.pattern))
		if err != nil {
			return nil, err
		}
		for _, path := range files {
			sum := sha256.New()
			fmt.Fprintln(sum, c.path, c.version, group.flags)
			for _, f := range append(slices.Clone(headers), path) {
				if err := addFile(sum, f); err != nil {
					return nil, err
				}
			}
			object := filepath.Join(cache, hex.EncodeToString(sum.Sum(nil))[:16]+".o")
			units = append(units, unit{path, group.flags, object})
		}
	}
	return units, nil
}

func addFile(w io.Writer, path string) error {
	data, err := os.ReadFile(path)
	if err == nil {
		fmt.Fprintln(w, filepath.Base(path), len(data))
		_, err = w.Write(data)
	}
	return err
}

// compile builds the missing objects and links the library.
func (c compiler) compile(dir string, units []unit, asan bool) error {
	work, err := os.MkdirTemp(filepath.Dir(dir), "build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	var jobs errgroup.Group
	jobs.SetLimit(runtime.GOMAXPROCS(0))
	for i, u := range units {
		if _, err := os.Stat(u.object); err == nil {
			if err := touch(u.object); err != nil {
				return err
			}
			continue
		}
		jobs.Go(func() error {
			out := filepath.Join(work, fmt.Sprint(i, ".o"))
			args := []string{"-I", sourceFolder(), "-I", kernelFolder(), "-x", "c++", "-c", u.source, "-o", out}
			if err := c.run(slices.Concat(u.flags, args)); err != nil {
				return err
			}
			return os.Rename(out, u.object)
		})
	}
	if err := jobs.Wait(); err != nil {
		return err
	}
	exports := filepath.Join(work, "exports")
	if err := os.WriteFile(exports, []byte("{ global: cu*; hgEmu*; local: *; };\n"), 0o644); err != nil {
		return err
	}
	lib := filepath.Join(work, "libcuda.so.1")
	link := []string{"-shared", "-Wl,-soname,libcuda.so.1", "-Wl,--version-script=" + exports, "-o", lib}
	switch {
	case asan && c.clang:
		link = append(link, "-fsanitize=address", "-shared-libasan")
	case asan:
		link = append(link, "-fsanitize=address")
	default:
		link = append(link, "-Wl,-z,defs") // report an undefined symbol now instead of at dlopen
	}
	for _, u := range units {
		link = append(link, u.object)
	}
	if err := c.run(link); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.Rename(lib, filepath.Join(dir, "libcuda.so.1"))
}

func (c compiler) run(args []string) error {
	out, err := exec.Command(c.path, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w\n%s", c.path, strings.Join(args, " "), err, out)
	}
	return nil
}

func touch(path string) error {
	now := time.Now()
	return os.Chtimes(path, now, now)
}

// prune removes files that were not used for two weeks.
func prune(cache string) error {
	entries, err := os.ReadDir(cache)
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || time.Since(info.ModTime()) < 14*24*time.Hour || e.Name() == "lock" {
			continue
		}
		if err := os.RemoveAll(filepath.Join(cache, e.Name())); err != nil {
			return err
		}
	}
	return nil
}
