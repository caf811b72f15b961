package train

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"hgld/train/device"
)

// peer measures the steps of PyTorch with scripts/gpu_steps.py.
type peer struct {
	tb      testing.TB
	command []string // none: there is no PyTorch
	table   *stepsTable
}

func newPeer(tb testing.TB, t *stepsTable) peer {
	if script := os.Getenv(torchVariable); script != "" {
		return peer{tb, []string{cmp.Or(os.Getenv(pythonVariable), "python3"), script}, t}
	}
	return peer{tb, nil, t}
}

// leastTurn is the least time in which PyTorch begins and takes some steps.
const leastTurn = 10 * time.Second

// measure measures a turn of each mode, of eager and compiled, in a process of its own, so that the
// memory is free afterwards. What it has printed within the limit counts. It reports whether there was
// a turn.
func (p peer) measure(row *stepsRow, modes string, limit time.Duration) bool {
	if len(p.command) == 0 || limit < leastTurn {
		return false
	}
	ctx, cancel := context.WithTimeout(p.tb.Context(), limit)
	defer cancel()
	args := append(slices.Clone(p.command[1:]), "--network", row.Peer, "--size", fmt.Sprint(row.Size), "--batch",
		fmt.Sprint(row.Batch), "--dim", fmt.Sprint(row.dim()), "--steps", fmt.Sprint(p.table.Steps), "--modes", modes)
	if row.Norm == "frozen" {
		args = append(args, "--frozen")
	}
	if row.others != "" {
		args = append(args, "--settings", row.others)
	}
	var out, problems bytes.Buffer
	c := exec.CommandContext(ctx, p.command[0], args...)
	c.Stdout, c.Stderr = &out, &problems
	c.WaitDelay = time.Second // torch.compile has processes of its own
	if err := c.Run(); err != nil {
		p.tb.Logf("PyTorch's %s, %s: %v\n%s", row.Peer, modes, err, &problems)
	}
	if err := p.read(row, &out); err != nil {
		p.tb.Errorf("PyTorch's %s, %s: %v", row.Peer, modes, err)
	}
	return true
}

// read takes the lines that gpu_steps.py has printed.
func (p peer) read(row *stepsRow, out *bytes.Buffer) error {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var line struct {
			speed
			Mode  string `json:"mode"`
			Torch string `json:"torch"`
			Timm  string `json:"timm"`
			CUDA  string `json:"cuda"`
			CuDNN int    `json:"cudnn"`
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return fmt.Errorf("%q: %w", lines.Text(), err)
		}
		switch line.Mode {
		case "eager":
			row.Eager = better(row.Eager, line.speed)
		case "compiled":
			row.Compiled = better(row.Compiled, line.speed)
		default:
			return fmt.Errorf("the mode %q", line.Mode)
		}
		maps.Copy(p.table.Libraries, map[string]string{"PyTorch": line.Torch, "timm": line.Timm,
			"PyTorch's CUDA": line.CUDA, "PyTorch's cuDNN": fmt.Sprint(line.CuDNN)})
	}
	return nil
}

// write writes the table as it is, so that a measurement that is cut off leaves what it has.
func (t *stepsTable) write(tb testing.TB) {
	path := os.Getenv(stepsVariable)
	if path == "" {
		return
	}
	data, err := json.MarshalIndent(t, "", " ")
	if err != nil {
		tb.Fatal(err)
	}
	table := strings.TrimSuffix(path, ".json") + ".md"
	for name, text := range map[string]string{path: string(data), table: t.markdown()} {
		err := os.WriteFile(name+".new", []byte(text), 0o644) // the part may be killed while it writes
		if err = errors.Join(err, os.Rename(name+".new", name)); err != nil {
			tb.Fatal(err)
		}
	}
}

// markdown formats the table. Columns of PyTorch are there if it was measured.
func (t *stepsTable) markdown() string {
	torch := slices.ContainsFunc(t.Rows, func(r *stepsRow) bool { return r.Eager != nil })
	compiled := slices.ContainsFunc(t.Rows, func(r *stepsRow) bool { return r.Compiled != nil })
	var versions []string
	for _, name := range slices.Sorted(maps.Keys(t.Libraries)) {
		versions = append(versions, name+" "+t.Libraries[name])
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s: copies %.0f GB/s. %s. The best of turns of %d steps, bfloat16, Adam, Smooth-AP.\n\n",
		t.Card, t.Copied/1e9, strings.Join(versions, ", "), t.Steps)
	row := func(first, second string, then ...string) {
		text.WriteString("| " + first + " | " + second)
		for _, cell := range then {
			text.WriteString(" | " + cell)
		}
		text.WriteString(" |\n")
	}
	head, line := []string{"hgld images/s", "of the memory floor", "GiB"}, []string{"---:", "---:", "---:"}
	for _, mode := range []struct {
		name string
		used bool
	}{{"PyTorch", torch}, {"torch.compile", compiled}} {
		if mode.used {
			head = append(head, mode.name+" images/s", "hgld is times as fast", "GiB")
			line = append(line, "---:", "---:", "---:")
		}
	}
	row("network", "BatchNorm", head...)
	row("---", "---", line...)
	for _, r := range t.Rows {
		cells := append([]string{r.Own.images(r.Batch), fmt.Sprintf("%.0f %%", 100*r.Floor)}, r.Own.gib())
		for _, side := range []struct {
			s    *speed
			used bool
		}{{r.Eager, torch}, {r.Compiled, compiled}} {
			if side.used {
				cells = append(cells, side.s.images(r.Batch), r.Own.over(side.s), side.s.gib())
			}
		}
		row(fmt.Sprintf("%s, %d²", r.Name, r.Size), r.Norm, cells...)
	}
	return text.String()
}

// images formats images a second, with the batch if it is another than was wanted.
func (s *speed) images(batch int) string {
	switch {
	case s == nil:
		return "no time"
	case s.Error != "":
		return "failed"
	case s.Batch != batch:
		return fmt.Sprintf("%.0f (batch %d)", s.Images, s.Batch)
	}
	return fmt.Sprintf("%.0f", s.Images)
}

// gib formats the memory.
func (s *speed) gib() string {
	if s == nil || s.Bytes == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f", float64(s.Bytes)/(1<<30))
}

// over formats how many times as fast as other s is.
func (s *speed) over(other *speed) string {
	if s == nil || other == nil || other.Images == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", s.Images/other.Images)
}

// Half the batch is taken as long as memory is short, and the table says so. Any other failure ends
// the measurement, and stands in the table.
func TestStepsHalveTheBatchWhereMemoryIsShort(t *testing.T) {
	row := stepsRow{peerNet: peerNet{Name: "net", Size: 224, Batch: 256}, Floor: 0.5, Moved: 1}
	var batches []int
	own := halving(256, func(batch int) (speed, error) {
		batches = append(batches, batch)
		if batch > 64 {
			return speed{}, fmt.Errorf("MatMul: %w", &device.OutOfMemory{What: "an array"})
		}
		return speed{StepMs: 10, Images: 6400, Bytes: 3 << 30}, nil
	})
	failed := halving(8, func(int) (speed, error) { return speed{}, errors.New("no card") })
	if !slices.Equal(batches, []int{256, 128, 64}) || own.Batch != 64 || failed.Error != "no card" {
		t.Errorf("batches of %v, then %+v and %+v", batches, own, failed)
	}
	row.Own, row.Eager, row.Compiled = &own, &speed{Batch: 256, Images: 3200, Bytes: 8 << 30}, &failed
	want := "| net, 224² |  | 6400 (batch 64) | 50 % | 3.0 | 3200 | 2.00 | 8.0 | failed |  |  |\n"
	if got := (&stepsTable{Rows: []*stepsRow{&row}}).markdown(); !strings.HasSuffix(got, want) {
		t.Errorf("the table is\n%s\nwant at its end\n%s", got, want)
	}
}
