package rendezvous

import (
	"fmt"
	"time"

	"hgld/internal/crash"
)

// Watch notices a process that lives and does not go on. calls returns how many collective calls this process has
// begun, which all processes begin equally often. If one of them has begun fewer than the others for longer than
// patience, and no more meanwhile, it counts as gone.
func (g *Group) Watch(calls func() int64, patience time.Duration) {
	g.calls.Store(&calls)
	if g.own.Rank == 0 {
		g.all.Go(func() {
			defer crash.Guard()
			g.missed(patience)
		})
	}
}

// made returns how many calls this process has begun.
func (g *Group) made() int64 {
	if calls := g.calls.Load(); calls != nil {
		return (*calls)()
	}
	return 0
}

// missed watches the slowest process.
func (g *Group) missed(patience time.Duration) {
	t := time.NewTicker(beat)
	defer t.Stop()
	since := time.Now() // the first look may find one behind
	var last int64
	var slowest int
	for {
		select {
		case <-g.ctx.Done():
			return
		case <-t.C:
		}
		own := g.made() // once: it may grow meanwhile
		who, fewest, most := g.own, own, own
		for _, p := range g.peers {
			n := p.seen.Load()
			if n < fewest {
				who, fewest = p.who, n
			}
			most = max(most, n)
		}
		if fewest == most || fewest != last || who.Rank != slowest {
			since, last, slowest = time.Now(), fewest, who.Rank
		}
		if waited := time.Since(since); waited > patience {
			g.lose(&GoneError{Who: who, Reason: fmt.Sprintf("the others have waited for it for %v",
				waited.Round(time.Second))}, nil)
			return
		}
	}
}
