package vendor

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"hgld/internal/atomicfile"
	"hgld/internal/regular"
)

// PlansVariable names the folder that keeps cuDNN's plans for later runs: "off" keeps none, also not within the
// process. By default it is hgld/cudnn in the user's cache.
const PlansVariable = "HGLD_CUDA_PLANS"

// planStore keeps the plans of one version of cuDNN for one kind of GPU. Compiling one takes 0.2 to 10 s; from its
// JSON, which holds the code, cuDNN makes it again in 1 to 3 ms.
type planStore struct {
	card string // version of cuDNN, kind of GPU and driver
	dir  string // "": within the process alone
	off  bool
}

// planRules changes whenever other algorithms than before are refused: what was kept is then planned anew.
const planRules = 2

// keptPlan is the content of a file, behind a line with its hash.
type keptPlan struct {
	Of     string // the Graph, or the operation
	Engine int
	Notes  []int32
	Plan   string // cuDNN's JSON, or the choice
}

// kept are the plans of this process, by the paths of their files.
var kept struct {
	sync.Mutex
	plans map[string]*keptPlan
}

// newPlanStore returns the store of a GPU. Plans that no run has used for a quarter of a year are removed.
func newPlanStore(card string) planStore {
	s := planStore{card: strings.Map(fileLetter, card)}
	switch dir := os.Getenv(PlansVariable); dir {
	case "off":
		s.off = true
	case "":
		if cache, err := os.UserCacheDir(); err == nil {
			s.dir = filepath.Join(cache, "hgld", "cudnn")
		}
	default:
		s.dir = dir
	}
	if s.dir != "" {
		s.prune(time.Now().AddDate(0, -3, 0))
	}
	return s
}

// fileLetter replaces what a file's name had better not contain.
func fileLetter(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' {
		return r
	}
	return '-'
}

// prune removes plans that were last used before a time.
func (s planStore) prune(before time.Time) {
	files, _ := filepath.Glob(filepath.Join(s.dir, "*", "*.plan"))
	for _, name := range files {
		if info, err := os.Stat(name); err == nil && info.ModTime().Before(before) {
			os.Remove(name)
			os.Remove(filepath.Dir(name)) // if it was the last
		}
	}
}

// path returns the path of a file, or what stands for it where there is no folder.
func (s planStore) path(of string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", planRules, of))
	return filepath.Join(s.dir, s.card, hex.EncodeToString(sum[:16])+".plan")
}

// find returns what was kept of a Graph or an operation, or nil. The error says that the file is damaged.
func (s planStore) find(of string) (*keptPlan, error) {
	if s.off {
		return nil, nil
	}
	path := s.path(of)
	kept.Lock()
	defer kept.Unlock()
	if p := kept.plans[path]; p != nil {
		return p, nil
	}
	if s.dir == "" {
		return nil, nil
	}
	data, err := regular.ReadFile(path)
	if err != nil {
		return nil, nil
	}
	sum, text, _ := bytes.Cut(data, []byte{'\n'})
	p := &keptPlan{}
	if string(sum) != hashText(text) || json.Unmarshal(text, p) != nil || p.Of != of {
		return nil, fmt.Errorf("%s is damaged", path)
	}
	now := time.Now()
	_ = os.Chtimes(path, now, now) // it was used
	s.remember(path, p)
	return p, nil
}

// keep keeps a plan. A folder that cannot be written costs the next run a compilation and is no error.
func (s planStore) keep(p *keptPlan) {
	if s.off {
		return
	}
	path := s.path(p.Of)
	kept.Lock()
	defer kept.Unlock()
	s.remember(path, p)
	if s.dir == "" {
		return
	}
	text, err := json.Marshal(p)
	if err != nil || atomicfile.MkdirAll(filepath.Dir(path), 0o700) != nil {
		return
	}
	_ = atomicfile.WriteFileMode(path, append([]byte(hashText(text)+"\n"), text...), 0o600)
}

// drop forgets a plan that could not be executed.
func (s planStore) drop(g Graph) {
	if s.off {
		return
	}
	path := s.path(graphText(g))
	kept.Lock()
	defer kept.Unlock()
	delete(kept.plans, path)
	if s.dir != "" {
		os.Remove(path)
	}
}

func (s planStore) remember(path string, p *keptPlan) {
	if kept.plans == nil {
		kept.plans = map[string]*keptPlan{}
	}
	kept.plans[path] = p
}

// graphText is all that a Graph holds.
func graphText(g Graph) string { return fmt.Sprintf("%#v", g) }

func hashText(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// restore makes a plan of what was kept of it.
func (p *graphPlan) restore(k *keptPlan, g Graph) error {
	s := p.made
	plan := s.planFor()
	set(s, plan, planJSON, typeChar, []uint8(k.Plan)...)
	if err := p.finish(plan, g.leastWorkspace()); err != nil {
		return err
	}
	p.engine, p.notes, p.tensors = k.Engine, k.Notes, g.tensors()
	return nil
}

// keep keeps a plan that was just made.
func (p *graphPlan) keep(in planStore, g Graph) {
	s := p.made
	text := make([]uint8, get[uint8](s, p.plan, planJSON, typeChar, nil))
	text = text[:min(get(s, p.plan, planJSON, typeChar, text), len(text))]
	if s.err == nil && len(text) > 0 {
		plan := strings.TrimRight(string(text), "\x00")
		in.keep(&keptPlan{Of: graphText(g), Engine: p.engine, Notes: p.notes, Plan: plan})
	}
	s.err = nil // a version that does not write it plans again
}

// Measured names all that the time of an algorithm depends on: the versions of the libraries and of the driver, and
// the kind of GPU.
func (l *Libraries) Measured() string { return l.measured }

// Choice returns the choice for an operation that was kept beside the plans, or "". The error says that its file is
// damaged.
func (l *Libraries) Choice(of string) (string, error) {
	p, err := l.choices.find(of)
	if p == nil {
		return "", err
	}
	return p.Plan, nil
}

// KeepChoice keeps the choice for an operation.
func (l *Libraries) KeepChoice(of, choice string) { l.choices.keep(&keptPlan{Of: of, Plan: choice}) }

// Try begins the trial of several plans of a Graph, which EndTry ends.
func (l *Libraries) Try() {
	if l.dnn != nil {
		l.dnn.trying = true
	}
}

// EndTry frees the plans that were made since Try, but for the first of each Graph and that of a number. No recorded
// program may execute the others.
func (l *Libraries) EndTry(number int) (err error) {
	d := l.dnn
	if d == nil {
		return nil
	}
	for _, g := range d.tried {
		if _, n := g.kind(); n != 0 && n != number {
			err = errors.Join(err, d.plans[g].made.free())
			delete(d.plans, g)
			d.kept.drop(g)
		}
	}
	d.trying, d.tried = false, nil
	return err
}
