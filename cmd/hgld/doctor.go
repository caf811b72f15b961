package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/cpu"

	"hgld/internal/blas"
	"hgld/internal/filelock"
	"hgld/internal/img"
	"hgld/internal/pipeline"
	"hgld/internal/ranks/launch"
	"hgld/internal/ranks/mpi"
	"hgld/internal/texttable"
	"hgld/train/device/cuda"
)

// finding is one line of `hgld doctor`.
type finding struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Text   string `json:"text"`
	Advice string `json:"advice,omitempty"`
}

func doctorCommand() *cli.Command {
	return &cli.Command{
		Name: "doctor", Usage: "what this machine offers hgld, and what is missing",
		Description: "  hgld doctor\n  hgld doctor --json",
		Flags:       commonFlags(),
		Action: func(c *cli.Context) error {
			p, unreadable := stages().Open(c.String("project"))
			j := jobIn(c, p)
			findings := append(examineMachine(), projectFinding(p, unreadable), folderFinding(), locksFinding())
			if j.json {
				return writeJSON(j, findings)
			}
			var rows [][]string
			for _, f := range findings {
				mark := "ok"
				if !f.OK {
					mark = "-"
				}
				rows = append(rows, []string{mark, f.Name, f.Text})
				if f.Advice != "" {
					rows = append(rows, []string{"", "", f.Advice})
				}
			}
			j.print("%s", texttable.Format("%-2s %-14s %s", rows...))
			return nil
		},
	}
}

// examineMachine inspects the machine. hgld runs without any of the things that it looks for;
// each makes something faster or adds a feature.
func examineMachine() []finding {
	b := thisBuild()
	card, driver := cudaFinding()
	return append([]finding{
		{Name: "hgld", OK: true, Text: fmt.Sprintf("%s, %s, %s", b.Version, b.Platform, b.Go)},
		{Name: "processor", OK: true, Text: fmt.Sprintf("%d threads%s", runtime.NumCPU(), vectorInstructions())},
		blasFinding(),
	}, slices.Concat(imageFindings(), []finding{card}, vendorFindings(driver), ranksFindings())...)
}

// vendorFindings reports NVIDIA's libraries where there is a driver for the given CUDA version.
func vendorFindings(driver int) (all []finding) {
	if driver == 0 {
		return nil
	}
	for _, l := range cuda.ProbeVendor(driver) {
		f := finding{Name: strings.ToLower(l.Name), OK: l.Err == nil, Text: fmt.Sprintf("%s, %s", l.Version, l.Path)}
		if l.Err != nil {
			f.Text = l.Err.Error()
			f.Advice = "optional: without it, hgld uses its own kernels; see docs/gpu.md"
		}
		all = append(all, f)
	}
	f := finding{Name: "nccl", OK: true}
	if l, err := cuda.FindNCCL(); err == nil {
		f.Text = fmt.Sprintf("%v, %s", l.Version, l.Path)
	} else {
		f.OK, f.Text = false, err.Error()
		f.Advice = "optional: needed to train on several GPUs; docs/distributed-training.md"
	}
	return append(all, f)
}

// ranksFindings reports what several processes would train together by, and the place of this one.
func ranksFindings() []finding {
	m := finding{Name: "mpi"}
	if l, err := mpi.Open(os.Getenv); err == nil {
		m.OK, m.Text = true, l.Version+"; "+l.Path
	} else {
		m.Text = "no MPI library was found"
		if name := os.Getenv(mpi.Variable); name != "" {
			m.Text = err.Error()
		}
		m.Advice = "optional: needed to train with several processes; docs/distributed-training.md"
	}
	started := finding{Name: "launcher", OK: true, Text: "none: a training here is one process"}
	if place, err := launch.Find(os.Getenv); err != nil {
		started.OK, started.Text = false, err.Error()
	} else if place != nil {
		started.Text = fmt.Sprintf("%s: rank %d of %d", place.Launcher, place.Rank, place.Ranks)
	}
	return []finding{m, started}
}

// cudaFinding reports the usable GPUs, on which it runs a kernel, or what is missing, and the CUDA version of
// the driver.
func cudaFinding() (finding, int) {
	r, err := cuda.Probe()
	f := finding{Name: "cuda", OK: err == nil}
	usable := r.First()
	for i, c := range r.Cards {
		if i > 0 {
			f.Text += "; "
		}
		f.Text += fmt.Sprintf("cuda:%d %s, compute capability %d.%d, %s, %.1f GiB", c.Ordinal, c.Name, c.Major, c.Minor,
			c.Precisions(), gibibytes(c.Memory))
		if free := r.Free(i); free >= 0 {
			f.Text += fmt.Sprintf(" (%.1f free)", gibibytes(free))
		}
		if !c.Usable() {
			continue
		}
		arch, failure := r.Try(i)
		switch {
		case failure == nil && arch == "":
			f.Text += ", for which the driver compiles the kernels"
		case failure == nil:
			f.Text += ", kernels for " + arch
		default:
			f.Text += ", but a kernel fails: " + strings.ReplaceAll(failure.Error(), "\n", "; ")
			if c == usable {
				f.OK, f.Advice = false, cuda.Advice(failure)
			}
		}
	}
	if r.Driver != "" {
		f.Text = strings.TrimPrefix(fmt.Sprintf("%s; driver %s for CUDA %d.%d", f.Text, r.Driver, r.Version/1000,
			r.Version%1000/10), "; ")
	}
	if err != nil {
		f.Text = strings.TrimPrefix(f.Text+"; "+err.Error(), "; ")
		f.Advice = cuda.Advice(err)
	}
	return f, r.Version
}

func gibibytes(n int) float64 { return float64(n) / (1 << 30) }

// projectFinding reports whether the project is usable. err is the error of opening it,
// or nil.
func projectFinding(p *pipeline.Project, err error) finding {
	if err == nil && p.File == "" {
		return finding{Name: "project", Text: "no hgld.yaml here",
			Advice: "hgld init my-project starts a project; single commands work without one"}
	}
	if err == nil {
		err = p.Check(stages().Stages)
	}
	if err != nil {
		advice := append(hints(err), "hgld config check")[0]
		return finding{Name: "project", Text: strings.ReplaceAll(err.Error(), "\n", "; "), Advice: advice}
	}
	text := p.File
	if off := p.Off(); len(off) > 0 {
		text += "; off: " + strings.Join(off, ", ")
	}
	return finding{Name: "project", OK: true, Text: text}
}

// vectorInstructions lists the available vector instructions.
func vectorInstructions() string {
	var have []string
	for _, f := range []struct {
		name string
		ok   bool
	}{{"AVX2", cpu.X86.HasAVX2}, {"FMA", cpu.X86.HasFMA}, {"AVX-512", cpu.X86.HasAVX512F}, {"NEON", cpu.ARM64.HasASIMD}} {
		if f.ok {
			have = append(have, f.name)
		}
	}
	if len(have) == 0 {
		return ""
	}
	return ", " + strings.Join(have, " ")
}

// blasFinding reports which library multiplies matrices.
func blasFinding() finding {
	if _, err := blas.Default(); err != nil {
		return finding{Name: "matrices", Text: err.Error(), Advice: "unset " + blas.Variable}
	}
	return finding{Name: "matrices", OK: true, Text: blas.Which()}
}

// imageFindings reports which libraries decode images.
func imageFindings() (all []finding) {
	for _, l := range img.Libraries() {
		all = append(all, finding(l))
	}
	return all
}

// folderFinding checks that files can be written to the current folder.
func folderFinding() finding {
	dir, err := os.MkdirTemp(".", ".hgld-doctor-")
	if err != nil {
		return finding{Name: "folder", Text: err.Error(), Advice: "change to a folder in which you may write"}
	}
	os.Remove(dir)
	here, err := filepath.Abs(".")
	if err != nil {
		here = "."
	}
	return finding{Name: "folder", OK: true, Text: here + " is writable"}
}

// locksFinding reports which locks keep two processes apart in the current folder.
func locksFinding() finding {
	f := finding{Name: "locks"}
	support, err := filelock.Probe(".")
	switch {
	case err != nil:
		f.Text = err.Error()
	case support == filelock.Leases:
		f.OK, f.Text = true, "leases: this file system has no locks; after a crash, others wait up to a minute"
	case support == filelock.Unguarded:
		f.Text = "this file system grants a lock to everybody"
		f.Advice = "never run two commands on one run directory, log or state; slices of shards may overlap"
	default:
		f.OK, f.Text = true, "end with their process"
	}
	return f
}
