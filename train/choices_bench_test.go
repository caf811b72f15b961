package train

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"hgld/internal/testing/must"
	"hgld/train/device/cuda"
	"hgld/train/device/cuda/vendor"
	"hgld/train/device/testing/conformance"
	"hgld/train/device/testing/emu"
)

// tunedVariable names the JSON file that BenchmarkChoices writes, with a table beside it (.md).
const tunedVariable = "HGLD_GPU_CHECK_TUNED"

// choicesTable is what BenchmarkChoices measures.
type choicesTable struct {
	On   string        `json:"on"` // versions and the GPU
	Rows []*choicesRow `json:"rows"`
	Left int           `json:"networks_left"` // for which there was no time
}

// choicesRow is a network with its steps by the rules and by the measured choice.
type choicesRow struct {
	peerNet
	Rules    *speed `json:"rules"`
	Measured *speed `json:"measured"`
}

// BenchmarkChoices measures training steps of published networks in bfloat16 by the rules and by the measured choice
// in turn, and lists what was chosen.
func BenchmarkChoices(b *testing.B) {
	rows, steps, turns := published, 20, 2
	if os.Getenv(smallVariable) != "" || !conformance.OnCard() {
		rows, steps, turns = tried, 1, 1
	}
	measureChoices(b, rows, steps, turns)
}

func measureChoices(tb testing.TB, rows []peerNet, steps, turns int) *choicesTable {
	began := time.Now()
	if !conformance.OnCard() {
		tb.Setenv(cuda.LibrariesVariable, emu.Build(tb)+string(os.PathListSeparator)+emu.BuildVendor(tb))
	}
	t := &choicesTable{}
	for i, n := range rows {
		if time.Since(began) > secondsOf(tb) {
			t.Left = len(rows) - i
			break
		}
		row := &choicesRow{peerNet: n}
		t.Rows = append(t.Rows, row)
		for range turns {
			for _, side := range []struct {
				setting string
				best    **speed
			}{{"bfloat16", &row.Rules}, {"measured", &row.Measured}} {
				tb.Setenv(cuda.VendorVariable, side.setting)
				s := halving(n.Batch, func(batch int) (speed, error) { return n.stepsOn(tb, batch, steps) })
				if s.Error != "" {
					tb.Errorf("%s, BatchNorm %q, %s: %s", n.Name, n.Norm, side.setting, s.Error)
				}
				first := s.First
				if *side.best != nil {
					first = (*side.best).First // of the turn that compiled and measured
				}
				*side.best = better(*side.best, s)
				(*side.best).First = first
				if s.Choices.On != "" {
					t.On = s.Choices.On
				}
			}
		}
		writeTable(tb, os.Getenv(tunedVariable), t, t.markdown())
	}
	tb.Log("\n" + t.markdown())
	return t
}

// markdown formats both tables.
func (t *choicesTable) markdown() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s. Images per second by the rules and by the measured choice, and seconds of the first step.\n\n"+
		"| network | BatchNorm | rules | measured | times as fast | first step | of these, measured |\n"+
		"|---|---|---:|---:|---:|---:|---:|\n", t.On)
	ways := map[string]string{}
	for _, r := range t.Rows {
		fmt.Fprintf(&text, "| %s, %d² | %s | %s | %s | %s | %.1f | %.1f |\n", r.Name, r.Size, r.Norm,
			r.Rules.images(r.Batch), r.Measured.images(r.Batch), r.Measured.over(r.Rules), r.Rules.First, r.Measured.First)
		maps.Copy(ways, r.Measured.Choices.Ways)
	}
	rules := 0
	text.WriteString("\n| operation in BF16 | choice |\n|---|---|\n")
	for _, shape := range slices.Sorted(maps.Keys(ways)) {
		if strings.HasPrefix(ways[shape], "rules") {
			rules++
			continue
		}
		fmt.Fprintf(&text, "| %s | %s |\n", shape, ways[shape])
	}
	fmt.Fprintf(&text, "\nThe rules hold for %d of %d shapes.", rules, len(ways))
	if t.Left > 0 {
		fmt.Fprintf(&text, " There was no time for %d networks.", t.Left)
	}
	return text.String() + "\n"
}

// The table has every shape of the steps that both sides took, and the choices with their times.
func TestChoicesOfStepsAreTabled(t *testing.T) {
	if conformance.OnCard() {
		t.Skip("needs the imitations of NVIDIA's libraries")
	}
	t.Setenv(vendor.PlansVariable, "off")
	small := map[string]any{"widths": []int{8, 16}, "strides": []int{2, 2}}
	table := measureChoices(t, []peerNet{{Name: "convnet", Norm: "frozen", Size: 16, Batch: 8, settings: small}}, 1, 1)
	row := table.Rows[0]
	if row.Rules.Images <= 0 || row.Measured.Images <= 0 || len(row.Rules.Choices.Ways) != 0 {
		t.Errorf("%+v, %+v", row.Rules, row.Measured)
	}
	kinds := map[string]int{}
	for shape, way := range row.Measured.Choices.Ways {
		op, _, _ := strings.Cut(shape, " ")
		kinds[op]++
		if !strings.HasSuffix(way, " by the rules") && !strings.HasPrefix(way, "rules: ") {
			t.Errorf("%s: %s", shape, way)
		}
	}
	if kinds["Conv"] == 0 || kinds["ConvGradX"] == 0 || kinds["ConvGradW"] == 0 || !strings.Contains(table.On, "cuDNN 9") {
		t.Errorf("chose for %v on %q", kinds, table.On)
	}
}

// onImitations opens the emulator with imitations of NVIDIA's libraries, which keep plans and choices in a folder.
func onImitations(t *testing.T, setting, plans string) *cuda.Backend {
	t.Helper()
	t.Setenv(cuda.LibrariesVariable, emu.Build(t)+string(os.PathListSeparator)+emu.BuildVendor(t))
	t.Setenv(cuda.VendorVariable, setting)
	t.Setenv(vendor.PlansVariable, plans)
	b, err := cuda.Open(0)
	must.Do(t, err)
	b.Log = func(text string) { t.Error(text) }
	return b
}
