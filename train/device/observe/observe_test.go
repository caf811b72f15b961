package observe

import (
	"reflect"
	"slices"
	"testing"

	"hgld/train/device"
	"hgld/train/device/cpu"
)

// The observer before the other does not do what it sees, so that its name shows what
// the outer one forwards to.
func TestObserverForwardsEveryOperation(t *testing.T) {
	var forwarded []string
	inner := &observer{seen: func(c Call, _ func()) { forwarded = append(forwarded, c.Op) }}
	all := reflect.TypeFor[device.Backend]()
	for i := range all.NumMethod() {
		name := all.Method(i).Name
		switch name {
		case "Name", "Supports", "Alloc", "Free", "Part", "Upload", "Download", "Wait", "Sync":
			continue // they answer the caller, or exchange memory with the host
		}
		var saw []string
		forwarded = nil
		outer := Operations(inner, func(c Call, do func()) {
			saw = append(saw, c.Op)
			if want := arraysIn(all.Method(i).Type); len(c.Arrays) != want {
				t.Errorf("%s: the observer saw %d arrays of %d", name, len(c.Arrays), want)
			}
			do()
		})
		callWithAnything(t, outer, name)
		if want := []string{name}; !slices.Equal(saw, want) || !slices.Equal(forwarded, want) {
			t.Errorf("%s: the observer saw %v and forwarded to %v", name, saw, forwarded)
		}
	}
}

// arraysIn counts the arrays among the parameters of a method and in its settings.
func arraysIn(method reflect.Type) (n int) {
	for i := range method.NumIn() {
		switch in := method.In(i); {
		case in == reflect.TypeFor[device.Array]():
			n++
		case in.Kind() == reflect.Struct:
			for _, field := range reflect.VisibleFields(in) {
				if field.Type == reflect.TypeFor[device.Array]() {
					n++
				}
			}
		}
	}
	return n
}

// callWithAnything calls a method with arrays of one element and zero settings.
func callWithAnything(t *testing.T, b device.Backend, name string) {
	defer func() {
		if err := recover(); err != nil {
			t.Errorf("%s is not forwarded: %v", name, err)
		}
	}()
	m := reflect.ValueOf(b).MethodByName(name)
	in := make([]reflect.Value, m.Type().NumIn())
	for i := range in {
		in[i] = reflect.New(m.Type().In(i)).Elem()
		if in[i].Type() == reflect.TypeFor[device.Array]() {
			in[i].Set(reflect.ValueOf(device.Make(nil, 0, device.F32, 1, 1, 1, 1)))
		}
	}
	m.Call(in)
}

// bare is a backend that can do nothing besides.
type bare struct{ device.Backend }

func TestObserverKeepsOptionalInterfaces(t *testing.T) {
	var saw []string
	see := func(c Call, do func()) {
		saw = append(saw, c.Op)
		do()
	}
	b := cpu.New(1)
	watched := Operations(b, see)
	r, able := watched.(device.Ragged)
	if !able {
		t.Fatal("an observed processor that is Ragged is not")
	}
	qkv, keys, spans := device.New(b, device.F32, 1, 6), device.New(b, device.I32, 1), device.New(b, device.I32, 1, 2)
	b.Fill(qkv, 1)
	b.Fill(keys, 0)
	b.Upload(spans, []byte{0, 0, 0, 0, 1, 0, 0, 0})
	r.RaggedAttention(device.New(b, device.F32, 1, 2), qkv, device.Array{}, keys, spans, 1)
	if !slices.Equal(saw, []string{"RaggedAttention"}) {
		t.Errorf("saw %v", saw)
	}
	w, same := device.New(b, device.F32, 32, 32), device.New(b, device.F32, 32, 32)
	b.Fill(w, 1)
	b.Fill(same, 1)
	if got, want := watched.(device.Packer).Pack(w, true), b.Pack(same, true); got != want {
		t.Errorf("packed %t behind an observer, %t without", got, want)
	}
	symmetric, factor := device.New(b, device.F32, 2, 2), device.New(b, device.F32, 1)
	b.Fill(symmetric, 1)
	b.Fill(factor, 3)
	if !watched.(device.Symmetric).Symmetrize(symmetric, factor) || saw[len(saw)-1] != "Symmetrize" ||
		b.Floats(symmetric)[1] != 6 {
		t.Errorf("saw %v, and the matrix is %v", saw, b.Floats(symmetric))
	}
	plain := Operations(bare{b}, see)
	if _, able := plain.(device.Ragged); able {
		t.Error("an observed processor that is not Ragged is")
	}
	if plain.(device.Packer).Pack(w, true) || plain.(device.Symmetric).Symmetrize(w, factor) ||
		plain.(device.Pinned).HostBuffer(1) != nil {
		t.Error("an observer has what is not behind it")
	}
}

func TestObserverSeesEveryRunOfAProgram(t *testing.T) {
	var saw []string
	b := cpu.New(1)
	watched := Operations(b, func(c Call, do func()) {
		saw = append(saw, c.Op)
		do()
	})
	x := device.New(b, device.F32, 1)
	program, err := watched.(device.Graphs).Record(func() { watched.Fill(x, 1) })
	if err != nil || len(saw) > 0 {
		t.Fatalf("%v; %v ran while recording", err, saw)
	}
	program.Run()
	program.Run()
	program.Close()
	if !slices.Equal(saw, []string{"Fill", "Fill"}) {
		t.Errorf("saw %v of two runs", saw)
	}
}
