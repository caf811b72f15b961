package cuda

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/must"
)

// touch makes empty files below a folder.
func touch(t *testing.T, root string, files ...string) {
	t.Helper()
	for _, f := range files {
		path := filepath.Join(root, f)
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Do(t, os.WriteFile(path, nil, 0o755))
	}
}

// NVIDIA's libraries lie in other places for a virtual environment, conda, pyenv and a user's own
// packages. python3 is a file that cannot be run: nothing starts it.
func TestLibrariesOfPythonAreFound(t *testing.T) {
	const name = "libx.so.9"
	packageIn := func(prefix string) string {
		return filepath.Join(prefix, "lib/python3.11/site-packages/nvidia/x/lib", name)
	}
	for what, c := range map[string]struct {
		bin   string   // where python3 lies
		files []string // beside it
		want  []string
	}{
		"virtual environment": {"venv/bin", []string{"venv/pyvenv.cfg", packageIn("venv"), packageIn("home/.local")},
			[]string{packageIn("venv")}},
		"Python with a user's packages": {"opt/bin", []string{packageIn("home/.local")}, []string{packageIn("home/.local")}},
		"conda": {"conda/bin", []string{"conda/conda-meta/history", "conda/lib/" + name, packageIn("conda")},
			[]string{"conda/lib/" + name, packageIn("conda")}},
		"not conda": {"opt/bin", []string{"opt/lib/" + name}, nil},
		"pyenv": {"pyenv/shims", []string{packageIn("pyenv/versions/3.11.4"), packageIn("pyenv/versions/3.12.1")},
			[]string{packageIn("pyenv/versions/3.11.4")}},
		"lib64": {"opt/bin", []string{"opt/lib64/python3.9/site-packages/nvidia/x/lib/" + name},
			[]string{"opt/lib64/python3.9/site-packages/nvidia/x/lib/" + name}},
	} {
		t.Run(what, func(t *testing.T) {
			root := t.TempDir()
			touch(t, root, append(c.files, filepath.Join(c.bin, "python3"))...)
			if strings.HasPrefix(c.bin, "pyenv") {
				must.Do(t, os.WriteFile(filepath.Join(root, "pyenv/version"), []byte("3.11.4\n"), 0o644))
			}
			t.Setenv("PATH", filepath.Join(root, c.bin))
			t.Setenv("HOME", filepath.Join(root, "home"))
			t.Setenv("PYENV_VERSION", "")
			t.Setenv(LibrariesVariable, "")
			var want []string
			for _, f := range c.want {
				want = append(want, filepath.Join(root, f))
			}
			if got := pythonPackages(name); !slices.Equal(got, want) {
				t.Errorf("found %q, want %q", got, want)
			}
		})
	}
}

// pip installs for a system's Python in /usr/local when root runs it.
func TestSystemPythonPackagesAreFoundInUsrLocal(t *testing.T) {
	if _, err := os.Stat("/usr/bin/python3"); err != nil {
		t.Skip("no /usr/bin/python3 here")
	}
	t.Setenv("PATH", "/usr/bin")
	if got := pythonPrefixes(); !slices.Contains(got, "/usr/local") || !slices.Contains(got, "/usr") {
		t.Errorf("prefixes %q", got)
	}
}
