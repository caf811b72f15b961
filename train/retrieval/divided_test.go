package retrieval

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"

	"hgld/internal/testing/must"
	"hgld/labels"
	"hgld/train/device/cpu"
	"hgld/train/metric"
)

// team is n processes in one, which exchange by channels: to[i][j] is from i to j.
type team [][]chan []byte

func newTeam(n int) team {
	t := make(team, n)
	for i := range t {
		for range n {
			t[i] = append(t[i], make(chan []byte, 1))
		}
	}
	return t
}

// member is a process of a team.
type member struct {
	team team
	rank int
}

func (m member) Rank() (index, size int) { return m.rank, len(m.team) }

func (m member) Exchange(own []byte) ([][]byte, error) {
	all := make([][]byte, len(m.team))
	for i := range m.team {
		m.team[m.rank][i] <- own
	}
	for i := range m.team {
		all[i] = <-m.team[i][m.rank]
	}
	return all, nil
}

func (m member) CheckStop(ctx context.Context) error {
	told := []byte{0}
	if ctx.Err() != nil {
		told[0] = 1
	}
	all, err := m.Exchange(told)
	for _, one := range all {
		if one[0] != 0 {
			return context.Canceled
		}
	}
	return err
}

// together evaluates in n processes of one thread each. It returns the results as JSON, and how many blocks each
// measured.
func together(n int, e Evaluation, ctx func(rank int) context.Context) (texts []string, blocks []int, errs []error) {
	texts, blocks, errs = make([]string, n), make([]int, n), make([]error, n)
	team := newTeam(n)
	var group sync.WaitGroup
	for rank := range n {
		group.Go(func() {
			own := e
			own.Threads, own.Progress = 1, func(int, int) { blocks[rank]++ }
			if n > 1 {
				own.Ranks = member{team, rank}
			}
			r, err := Evaluate(ctx(rank), cpu.New(1), &own)
			text, failed := json.Marshal(r)
			texts[rank], errs[rank] = string(text), errors.Join(err, failed)
		})
	}
	group.Wait()
	return texts, blocks, errs
}

func background(int) context.Context { return context.Background() }

// The queries are divided among the processes, and all of them have the bytes of one: figures, values of every query,
// ties, intervals and gaps.
func TestProcessesDivideTheQueries(t *testing.T) {
	m, list := cloud(97)
	e := Evaluation{Query: sideOf(t, cpu.New(1), m, list), Self: OwnRows(97), Levels: []string{"a", "b"},
		Metrics: allMetrics(t), Memory: 4 * 97 * 10, PerQuery: true, Gap: 20, Intervals: NewIntervals(ByQuery, 1)}
	e.Gallery = e.Query
	mixed := e
	mixed.Metrics, mixed.Gap = metric.Set{metric.AP{}}, 0
	mixed.Query.Labels = append([]labels.Path{{-1, 2}}, list[1:]...)
	mixed.Gallery = mixed.Query
	for name, e := range map[string]Evaluation{"levels": e, "mixed depth": mixed} {
		one, all, errs := together(1, e, background)
		must.Do(t, errs[0])
		for _, n := range []int{2, 3, 12} {
			texts, blocks, errs := together(n, e, background)
			for rank, text := range texts {
				if errs[rank] != nil || text != one[0] {
					t.Errorf("%s: rank %d of %d: %v, got %s, want %s", name, rank, n, errs[rank], text, one[0])
				}
				if most := (all[0] + n - 1) / n; blocks[rank] > most {
					t.Errorf("%s: rank %d of %d measured %d blocks of %d, want at most %d", name, rank, n, blocks[rank], all[0],
						most)
				}
			}
		}
	}
}

// Rankings that somebody looks at are made whole in every process, in order.
func TestShownRankingsAreNotDivided(t *testing.T) {
	m, list := cloud(30)
	next := make([]int, 2)
	e := Evaluation{Query: sideOf(t, cpu.New(1), m, list), Levels: []string{"a", "b"}, Metrics: allMetrics(t), Memory: 1}
	e.Gallery = e.Query
	team := newTeam(2)
	for rank := range next {
		own := e
		own.Ranks = member{team, rank}
		own.Observer = &Observer{Places: 3, Ranking: func(query int, _ []int32, _ []float32) error {
			if query == next[rank] {
				next[rank]++
			}
			return nil
		}}
		if _, err := Evaluate(context.Background(), cpu.New(1), &own); err != nil || next[rank] != 30 {
			t.Errorf("rank %d: %v, %d queries in order, want 30", rank, err, next[rank])
		}
	}
}

// A process that is told to stop stops all.
func TestProcessesStopAnEvaluationTogether(t *testing.T) {
	m, list := cloud(20)
	e := Evaluation{Query: sideOf(t, cpu.New(1), m, list), Levels: []string{"a", "b"}, Metrics: allMetrics(t), Memory: 1}
	e.Gallery = e.Query
	stopped, cancel := context.WithCancel(context.Background())
	cancel()
	_, blocks, errs := together(3, e, func(rank int) context.Context {
		if rank == 2 {
			return stopped
		}
		return context.Background()
	})
	for rank, err := range errs {
		if !errors.Is(err, context.Canceled) || blocks[rank] > 0 {
			t.Errorf("rank %d: %v after %d blocks", rank, err, blocks[rank])
		}
	}
}
