package train

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"hgld/internal/tensorfile"
	"hgld/internal/terminal"
	"hgld/labels"
	"hgld/train/checkpoint"
	"hgld/train/collective"
	"hgld/train/device"
	"hgld/train/input"
)

// common returns the value of rank 0, by which all processes choose what to do next.
func (r *Run) common(value float64) (float64, error) {
	group := r.network.Ranks
	if group == nil {
		return value, nil
	}
	var all [][]byte
	err := r.thread.Do(func() (err error) {
		all, err = group.Exchange(binary.LittleEndian.AppendUint64(nil, math.Float64bits(value)))
		return err
	})
	if err != nil {
		return 0, err
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(all[0])), nil
}

// greeting is what the processes of a group tell each other before the first step.
type greeting struct {
	Host  string
	PID   int
	Error string // why the process cannot train; "": it can

	State checkpoint.State // config, data and, of rank 0, progress
	Run   []any            // settings of Config.Run that decide what a step is followed by
	Held  []string
	Best  checkpoint.Best
	Saved int
}

func (g *greeting) name(rank int) string {
	return fmt.Sprintf("rank %d (%s, process %d)", rank, g.Host, g.PID)
}

// RanksError says that processes that are to train one model together cannot. All return the same
// differences.
type RanksError struct {
	Differences []string // such as "rank 1 (n2, process 17): optim.lr is 0.01, rank 0 has 0.001"
}

// Error lists the differences.
func (e *RanksError) Error() string {
	return "train: the processes cannot train together: " + strings.Join(e.Differences, "; ")
}

// meet compares this process with the others and takes over the progress and the weights of rank 0, which
// alone has read them. failed is why this process cannot train, or nil.
func (r *Run) meet(failed error) error {
	group := collective.Of(r.o.Backend)
	if group == nil || r.o.blank {
		return failed
	}
	own := greeting{PID: os.Getpid(), State: r.state, Best: r.best, Saved: r.saved}
	own.Host, _ = os.Hostname()
	if failed != nil {
		own.Error = failed.Error()
	} else {
		run := r.config.Run
		own.Run = []any{run.Evaluate, run.EvalOn, run.Best, run.Checkpoint, run.Metrics, r.o.Limit, r.o.Overfit}
		own.Held = r.heldOut()
	}
	text, err := json.Marshal(own)
	if err != nil {
		return err
	}
	texts, err := group.Exchange(text)
	if err != nil || failed != nil {
		return errors.Join(failed, err)
	}
	all := make([]greeting, group.Size)
	for i := range all {
		if err := json.Unmarshal(texts[i], &all[i]); err != nil {
			return fmt.Errorf("train: the greeting of rank %d: %w", i, err)
		}
	}
	list, err := unlike(all)
	if err != nil {
		return err
	}
	if len(list) > 0 {
		return &RanksError{list}
	}
	return r.follower(group, &all[0])
}

// heldOut returns the fingerprints of what is evaluated.
func (r *Run) heldOut() (list []string) {
	sets := []input.Dataset{r.data.Validation, r.data.Query, r.data.Gallery}
	for _, b := range r.data.Benchmarks {
		sets = append(sets, b.Query, b.Gallery)
	}
	for _, l := range r.data.Landmarks {
		sets = append(sets, l.Sets()...)
	}
	for _, d := range sets {
		if d == nil {
			list = append(list, "")
			continue
		}
		rows := make([]labels.Path, d.Len())
		for i := range rows {
			rows[i] = d.Labels(i)
		}
		list = append(list, input.FingerprintOf(d, rows))
	}
	return list
}

// unlike lists how processes differ from rank 0.
func unlike(all []greeting) (list []string, err error) {
	first := &all[0]
	for i := range all {
		g := &all[i]
		add := func(format string, args ...any) { list = append(list, g.name(i)+": "+fmt.Sprintf(format, args...)) }
		if g.Error != "" {
			add("%s", g.Error)
			continue
		}
		if i == 0 || first.Error != "" {
			continue
		}
		diff, err := checkpoint.Differences(first.State, g.State)
		if err != nil {
			return nil, err
		}
		for _, d := range diff {
			add("%s", strings.Replace(d, ", the checkpoint has ", ", rank 0 has ", 1))
		}
		for _, key := range []string{"tool", "jpeg"} {
			if a, b := g.State.Origin[key], first.State.Origin[key]; a != b {
				add("%s is %s, rank 0 has %s", key, a, b)
			}
		}
		if a, b := fmt.Sprint(g.Run...), fmt.Sprint(first.Run...); a != b {
			add("the settings of run are %s, rank 0 has %s", a, b)
		}
		if !slices.Equal(g.Held, first.Held) {
			add("the images or labels of an evaluation differ")
		}
	}
	return list, nil
}

// follower takes over the progress and the arrays of rank 0.
func (r *Run) follower(group *collective.Group, first *greeting) error {
	if !group.Leads() {
		origin := r.state.Origin
		r.state, r.best, r.saved = first.State, first.Best, first.Saved
		r.state.Config, r.state.Origin = r.config, origin
		r.step.Update.Steps = r.state.Step
		r.follow()
	}
	for _, a := range r.network.Store.Arrays() {
		group.Broadcast(a)
	}
	for _, a := range r.step.Update.Counts() {
		group.Broadcast(a)
	}
	if ema := r.step.Update.EMA; ema != nil {
		for _, a := range ema.Averages {
			group.Broadcast(a)
		}
	}
	r.reranked = r.state.Ranks
	if r.state.Ranks = group.Size; r.reranked == 0 {
		r.reranked = 1
	}
	return r.o.Backend.Sync()
}

// choices returns what the devices of all processes have chosen, by rank, or nil if they choose nothing.
func (r *Run) choices() ([]device.Choices, error) {
	able, chooses := r.o.Backend.(device.Choosing)
	if !chooses {
		return nil, nil
	}
	all := []device.Choices{able.Choices()}
	if group := r.network.Ranks; group != nil {
		own, err := json.Marshal(all[0])
		if err != nil {
			return nil, err
		}
		texts, err := group.Exchange(own)
		if err != nil {
			return nil, err
		}
		all = make([]device.Choices, len(texts))
		for i, text := range texts {
			if err := json.Unmarshal(text, &all[i]); err != nil {
				return nil, fmt.Errorf("train: the choices of rank %d: %w", i, err)
			}
		}
	}
	if !slices.ContainsFunc(all, func(c device.Choices) bool { return len(c.Ways) > 0 }) {
		return nil, nil
	}
	return all, nil
}

// repeatChoices makes the device take what it chose before the checkpoint, so that the run ends with the same bytes.
func (r *Run) repeatChoices() {
	rank := 0
	if r.network != nil && r.network.Ranks != nil {
		rank = r.network.Ranks.Index
	}
	if able, chooses := r.o.Backend.(device.Choosing); chooses && rank < len(r.state.Choices) {
		able.Repeat(r.state.Choices[rank])
	}
}

// Ranks returns the number of processes that train together, and the number before the checkpoint that the run
// continues from. The two are equal in a new run.
func (r *Run) Ranks() (now, before int) {
	now = r.network.Ranks.Count()
	if r.resumed == "" {
		return now, now
	}
	return now, max(r.reranked, 1)
}

// DivergedError says that processes that train together have different weights. Their processors may round
// differently.
type DivergedError struct {
	Step  int   // the last
	Ranks []int // those that differ from rank 0
}

// Error names the ranks.
func (e *DivergedError) Error() string {
	return fmt.Sprintf("train: step %d: the weights of %s differ from those of rank 0: no checkpoint is written",
		e.Step, terminal.Numbered("rank", e.Ranks))
}

// compare returns a *DivergedError if the processes of the group have different tensors.
func (r *Run) compare(tensors []tensorfile.Tensor) error {
	group := r.network.Ranks
	if group == nil {
		return nil
	}
	hash := sha256.New()
	for _, t := range tensors {
		hash.Write(t.Data)
	}
	differ, err := group.Differ(hash.Sum(nil))
	if len(differ) > 0 {
		err = &DivergedError{Step: r.state.Step, Ranks: differ}
	}
	return err
}
