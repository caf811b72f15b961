package vendor

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"hgld/train/device"
)

// Graph is what cuDNN computes in one plan: a [Convolution] or an [Attention].
type Graph interface {
	fmt.Stringer

	operations(s *descriptors) ([]uintptr, error) // describes them, in order
	tensors() []tensor                            // those with an address
	kind() (device.DType, int)                    // of the arrays; which of the suitable algorithms is taken
	leastWorkspace() int                          // bytes; algorithms with less are of a kind that is refused
}

// Arrays are the arguments of a Graph: [Images] or [Sequences].
type Arrays interface {
	of(t tensor) uint64 // the address on the GPU; of a scalar that on the host
}

// graphPlan is what executes a Graph. err is why there is nothing.
type graphPlan struct {
	made      *descriptors // the plan and all that it refers to
	plan      uintptr
	workspace int
	tensors   []tensor // with an address
	passed    int      // suitable algorithms that were passed over
	engine    int      // number of the algorithm among cuDNN's
	notes     []int32  // what cuDNN says of it
	err       error
}

// GraphWorkspace returns the bytes of workspace that a Graph needs. It makes the plan on first use. An error means that
// cuDNN cannot compute it.
func (l *Libraries) GraphWorkspace(g Graph) (int, error) {
	p := l.dnn.planned(g)
	return p.workspace, p.err
}

// Execute queues a Graph. queued is false if an error came before anything was queued: the Graph is then never tried
// again.
func (l *Libraries) Execute(g Graph, a Arrays, workspace uint64) (queued bool, err error) {
	p := l.dnn.planned(g)
	if p.err != nil {
		return false, p.err
	}
	err = l.dnn.execute(p, a, workspace)
	if err == nil {
		return true, nil
	}
	var e *Error
	if errors.As(err, &e) && e.Code >= dnnInternalError && e.Call == "cudnnBackendExecute" {
		return true, err // the result may be half written
	}
	p.err = err
	l.dnn.kept.drop(g)
	return false, err
}

// PlansText describes what was planned so far, one Graph a line, sorted: the shape, the number of cuDNN's
// algorithm and what cuDNN notes of it.
func (l *Libraries) PlansText() string {
	if l == nil || l.dnn == nil {
		return ""
	}
	var lines []string
	for g, p := range l.dnn.plans {
		lines = append(lines, fmt.Sprintf("%s: %s\n", g, p))
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// String describes what executes a Graph.
func (p *graphPlan) String() string {
	if p.err != nil {
		return strings.ReplaceAll(p.err.Error(), "\n", "; ")
	}
	return fmt.Sprintf("engine %d %s, %d bytes of workspace", p.engine, notesText(p.notes), p.workspace)
}

// execute runs a plan on the arguments.
func (d *dnn) execute(p *graphPlan, a Arrays, workspace uint64) error {
	s := &descriptors{d: d}
	var ids []int64
	var pointers []uintptr
	for _, t := range p.tensors {
		ids = append(ids, int64(t))
		pointers = append(pointers, uintptr(a.of(t)))
	}
	pack := s.new(ofVariantPack)
	set(s, pack, packIDs, typeInt64, ids...)
	set(s, pack, packPointers, typePointer, pointers...)
	set(s, pack, packWorkspace, typePointer, uintptr(workspace))
	s.finalize(pack)
	if s.err == nil {
		s.err = d.call("cudnnBackendExecute", d.executeOnCard, d.handle, p.plan, pack)
	}
	runtime.KeepAlive(a)
	return errors.Join(s.err, s.free())
}

// planned returns the plan of a Graph, made on first use.
func (d *dnn) planned(g Graph) *graphPlan {
	if p := d.plans[g]; p != nil {
		return p
	}
	p := &graphPlan{made: &descriptors{d: d}}
	d.plans[g] = p
	if d.trying {
		d.tried = append(d.tried, g)
	}
	if k, _ := d.kept.find(graphText(g)); k != nil {
		if p.restore(k, g) == nil {
			return p
		}
		*p = graphPlan{made: &descriptors{d: d}, err: p.made.free()} // of another build: plan anew
	}
	if p.err = d.plan(p, g); p.err == nil {
		p.keep(d.kept, g)
	} else {
		p.err = errors.Join(p.err, p.made.free())
	}
	return p
}

// plan describes a Graph and looks for an engine, first among those that the heuristic
// expects to be fast, then among those that can do everything.
func (d *dnn) plan(p *graphPlan, g Graph) error {
	operations, err := g.operations(p.made)
	if err != nil {
		return err
	}
	p.tensors = g.tensors()
	s := p.made
	graph := s.new(ofGraph)
	if d.described == 0 {
		set(s, graph, graphHandle, typeHandle, d.handle)
	}
	set(s, graph, graphOperations, typeDescriptor, operations...)
	s.finalize(graph)
	if s.err != nil {
		return s.err
	}
	modes := []int32{modeA, modeFallback}
	if dtype, _ := g.kind(); dtype == device.BF16 {
		modes = modes[:1] // one that can do everything may take 60 times as long as our kernel
	}
	var reasons []error
	for _, mode := range modes {
		err := p.search(graph, mode, g)
		if err == nil {
			return nil
		}
		reasons = append(reasons, err)
	}
	return errors.Join(reasons...)
}

// mostConfigs bounds the number of configurations that are tried.
const mostConfigs = 32

// search takes the first configuration that the heuristic proposes, is deterministic and exact
// enough, and can be planned within the workspace, or one behind it.
func (p *graphPlan) search(graph uintptr, mode int32, g Graph) error {
	s := p.made
	s.err = nil
	dtype, number := g.kind()
	heuristic := s.new(ofHeuristic)
	set(s, heuristic, heuristicGraph, typeDescriptor, graph)
	set(s, heuristic, heuristicMode, typeHeuristicMode, mode)
	if s.d.described != 0 {
		set(s, heuristic, heuristicDevice, typeDescriptor, s.d.described)
	}
	s.finalize(heuristic)
	n := min(get[uintptr](s, heuristic, heuristicResults, typeDescriptor, nil), mostConfigs)
	configs := make([]uintptr, n)
	for i := range configs {
		configs[i] = s.new(ofEngineConfig)
	}
	n = min(get(s, heuristic, heuristicResults, typeDescriptor, configs), n)
	if s.err != nil {
		return s.err
	}
	why := error(ErrNoPlan)
	for _, config := range configs[:n] {
		before := len(s.all)
		err := p.try(config, dtype, g.leastWorkspace())
		if err == nil && p.passed == number {
			return nil
		}
		if err == nil {
			p.passed++
			err = noPlan(number)
		}
		why, s.err = err, s.freeFrom(before)
	}
	return why
}

// try makes a plan of a configuration.
func (p *graphPlan) try(config uintptr, dtype device.DType, least int) error {
	s := p.made
	engine := s.new(ofEngine)
	one := []uintptr{engine}
	get(s, config, configEngine, typeDescriptor, one)
	number, notes := make([]int64, 1), make([]int32, 32)
	get(s, engine, engineNumber, typeInt64, number)
	notes = notes[:min(get(s, engine, engineNotes, typeNumericalNote, notes), len(notes))]
	if s.err == nil && slices.ContainsFunc(notes, func(note int32) bool { return refuses(dtype, note) }) {
		return fmt.Errorf("an algorithm has the numerical notes %s: %w", notesText(notes), ErrNoPlan)
	}
	if s.err == nil && dtype == device.BF16 && !slices.Contains(notes, noteTensorCore) {
		return fmt.Errorf("an algorithm does not use tensor cores: %w", ErrNoPlan)
	}
	plan := s.planFor()
	set(s, plan, planConfig, typeDescriptor, config)
	if err := p.finish(plan, least); err != nil {
		return err
	}
	p.engine, p.notes = int(number[0]), notes
	return nil
}

// planFor makes the description of a plan for the GPU.
func (s *descriptors) planFor() uintptr {
	plan := s.new(ofPlan)
	if s.d.described == 0 {
		set(s, plan, planHandle, typeHandle, s.d.handle)
	} else {
		set(s, plan, planDevice, typeDescriptor, s.d.described)
	}
	return plan
}

// finish finalizes a plan, for which cuDNN may compile code, and takes it if its workspace is small enough.
func (p *graphPlan) finish(plan uintptr, least int) error {
	s := p.made
	s.finalize(plan)
	bytes := make([]int64, 1)
	get(s, plan, planWorkspace, typeInt64, bytes)
	if s.err == nil && bytes[0] > MostWorkspace {
		return fmt.Errorf("an algorithm wants %d bytes of workspace: %w", bytes[0], ErrNoPlan)
	}
	if s.err == nil && bytes[0] < int64(least) {
		return fmt.Errorf("an algorithm has %d bytes of workspace, and one that repeats its bytes %d: %w", bytes[0], least,
			ErrNoPlan)
	}
	p.plan, p.workspace = plan, int(bytes[0])
	return s.err
}

// noteNames are the numerical notes of cuDNN, in the order of their numbers.
var noteNames = []string{"tensor cores", "down-converted inputs", "reduced sums", "FFT", "nondeterministic", "Winograd",
	"Winograd 4x4", "Winograd 6x6", "Winograd 13x13", "strict NaN"}

// notesText names numerical notes.
func notesText(notes []int32) string {
	var names []string
	for _, n := range notes {
		if n < 0 || int(n) >= len(noteNames) {
			names = append(names, fmt.Sprint(n))
			continue
		}
		names = append(names, noteNames[n])
	}
	return "[" + strings.Join(names, ", ") + "]"
}

// refuses reports whether algorithms with a numerical note are not used: those that may give
// other bytes when repeated, those that add up in a short type, and those whose transforms lose
// digits. In F32 also those that round the arguments.
func refuses(dtype device.DType, note int32) bool {
	switch {
	case note == noteNondeterministic, note == noteReducedSums, note == noteFFT:
		return true
	case note >= noteWinograd && note <= noteWinograd13:
		return true
	}
	return dtype == device.F32 && (note == noteTensorCore || note == noteDownConvert)
}

// tensor describes a tensor by its dimensions and strides.
func (s *descriptors) tensor(id tensor, kind int32, align int, dims, strides [4]int) uintptr {
	t := s.new(ofTensor)
	set(s, t, tensorType, typeDataType, kind)
	set(s, t, tensorDimensions, typeInt64, int64(dims[0]), int64(dims[1]), int64(dims[2]), int64(dims[3]))
	set(s, t, tensorStrides, typeInt64, int64(strides[0]), int64(strides[1]), int64(strides[2]), int64(strides[3]))
	set(s, t, tensorID, typeInt64, int64(id))
	set(s, t, tensorAlignment, typeInt64, int64(align))
	switch {
	case id >= intermediate:
		set(s, t, tensorVirtual, typeBoolean, uint8(1))
	case id >= scalar:
		set(s, t, tensorByValue, typeBoolean, uint8(1))
	}
	s.finalize(t)
	return t
}
