package ptx

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// access returns the space of a load or store (global, shared, param or generic), the number of
// its elements and their type.
func (i instruction) access() (space string, n int, t ptype, err error) {
	space, n = "generic", 1
	for _, mod := range i.name[1 : len(i.name)-1] {
		switch mod {
		case "global", "shared", "param":
			space = mod
		case "v2", "v4":
			n, err = strconv.Atoi(mod[1:])
		default:
			err = fmt.Errorf("unsupported modifier .%s", mod)
		}
		if err != nil {
			return space, n, t, err
		}
	}
	t, err = i.last()
	return space, n, t, err
}

// load reads all elements before it writes a register, which the address may use.
func load(i instruction) (string, error) {
	space, n, t, err := i.access()
	if err != nil {
		return "", err
	}
	at, err := i.place(i.args[1])
	if err != nil {
		return "", err
	}
	to := elements(i.args[0])
	if len(to) != n {
		return "", fmt.Errorf("%d registers for %d elements", len(to), n)
	}
	var code strings.Builder
	fmt.Fprintf(&code, "{ auto v = load_%s<%s, %d>(%s, HG_PTX_LINE);", space, t.ctype(), n, at)
	for j, register := range to {
		one, err := i.assign(register, t, fmt.Sprintf("v.of[%d]", j))
		if err != nil {
			return "", err
		}
		fmt.Fprint(&code, " ", one)
	}
	return code.String() + " }", nil
}

func store(i instruction) (string, error) {
	space, n, t, err := i.access()
	if err != nil {
		return "", err
	}
	if space == "param" {
		return "", errors.New("unsupported store to a parameter")
	}
	at, err := i.place(i.args[0])
	if err != nil {
		return "", err
	}
	v, err := i.values(t, elements(i.args[1])...)
	if err != nil {
		return "", err
	}
	if len(v) != n {
		return "", fmt.Errorf("%d registers for %d elements", len(v), n)
	}
	return fmt.Sprintf("{ Several<%s, %d> v = {{%s}}; store_%s(%s, v, HG_PTX_LINE); }", t.ctype(), n,
		strings.Join(v, ", "), space, at), nil
}

func atomic(i instruction) (string, error) {
	t, err := i.last()
	if err != nil {
		return "", err
	}
	if t.bits < 32 || t.class == 'f' {
		return "", errors.New("unsupported type of an atomic")
	}
	space, operation := "generic", i.name[len(i.name)-2]
	if len(i.name) == 4 && slices.Contains([]string{"shared", "global"}, i.name[1]) {
		space = i.name[1]
	} else if len(i.name) != 3 {
		return "", fmt.Errorf("unsupported atomic")
	}
	if !slices.Contains([]string{"add", "or", "min", "max", "exch"}, operation) {
		return "", fmt.Errorf("unsupported atomic")
	}
	at, err := i.place(i.args[1])
	if err != nil {
		return "", err
	}
	v, err := i.value(i.args[2], t)
	if err != nil {
		return "", err
	}
	return i.assign(i.args[0], t,
		fmt.Sprintf("atomic_%s<%s>(%s_pointer, %s, %s, HG_PTX_LINE)", operation, t.ctype(), space, at, v))
}

func barrier(i instruction) (string, error) {
	switch strings.Join(i.name, ".") + " " + i.args[0] {
	case "bar.sync 0":
		return "hg_emu::barrier();", nil
	}
	if strings.Join(i.name, ".") != "bar.warp.sync" {
		return "", fmt.Errorf("unsupported barrier")
	}
	mask, err := i.value(i.args[0], ptype{'u', 32})
	return fmt.Sprintf("hg_emu::warp(%s, hg_emu::vote_sync, 0, 0);", mask), err
}

func shuffle(i instruction) (string, error) {
	if len(i.name) != 4 || i.name[1] != "sync" || i.name[3] != "b32" || strings.Contains(i.args[0], "|") {
		return "", fmt.Errorf("unsupported shuffle")
	}
	v, err := i.values(ptype{'b', 32}, i.args[1:]...)
	if err != nil {
		return "", err
	}
	return i.assign(i.args[0], ptype{'b', 32}, fmt.Sprintf("shuffle_%s(%s)", i.name[2], strings.Join(v, ", ")))
}

func vote(i instruction) (string, error) {
	mode := strings.Join(i.name[1:], ".")
	p, err := i.value(i.args[1], ptype{'p', 1})
	if err != nil {
		return "", err
	}
	mask, err := i.value(i.args[2], ptype{'u', 32})
	if err != nil {
		return "", err
	}
	pred, ballot := ptype{'p', 1}, fmt.Sprintf("(u32)hg_emu::warp(%s, hg_emu::vote_ballot, %s, 0)", mask, p)
	switch mode {
	case "sync.all.pred":
		return i.assign(i.args[0], pred, ballot+" == "+mask)
	case "sync.any.pred":
		return i.assign(i.args[0], pred, ballot+" != 0")
	case "sync.ballot.b32":
		return i.assign(i.args[0], ptype{'b', 32}, ballot)
	}
	return "", fmt.Errorf("unsupported vote")
}

// matrix is mma.
func matrix(i instruction) (string, error) {
	if strings.Join(i.name, ".") != "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32" {
		return "", fmt.Errorf("unsupported mma")
	}
	f32, b32 := ptype{'f', 32}, ptype{'b', 32}
	c, err := i.values(f32, elements(i.args[3])...)
	if err != nil {
		return "", err
	}
	a, err := i.values(b32, elements(i.args[1])...)
	if err != nil {
		return "", err
	}
	b, err := i.values(b32, elements(i.args[2])...)
	if err != nil {
		return "", err
	}
	to := elements(i.args[0])
	if len(to) != 4 || len(c) != 4 || len(a) != 4 || len(b) != 2 {
		return "", fmt.Errorf("fragments of another size")
	}
	code := fmt.Sprintf("{ float d[4] = {%s}; u32 a[4] = {%s}, b[2] = {%s}; hg_emu::mma(d, a, b);", strings.Join(c, ", "),
		strings.Join(a, ", "), strings.Join(b, ", "))
	return i.fill(code, to, f32, "d")
}

// fill ends a block of code with assignments of an array's elements.
func (i instruction) fill(code string, to []string, t ptype, array string) (string, error) {
	for j, register := range to {
		one, err := i.assign(register, t, fmt.Sprintf("%s[%d]", array, j))
		if err != nil {
			return "", err
		}
		code += " " + one
	}
	return code + " }", nil
}

func loadMatrix(i instruction) (string, error) {
	turned := slices.Contains(i.name, "trans")
	want := "ldmatrix.sync.aligned.m8n8.x4.shared.b16"
	if turned {
		want = "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"
	}
	to := elements(i.args[0])
	if strings.Join(i.name, ".") != want || len(to) != 4 {
		return "", fmt.Errorf("unsupported ldmatrix")
	}
	at, err := i.place(i.args[1])
	if err != nil {
		return "", err
	}
	code := fmt.Sprintf("{ u32 matrices[4]; load_matrix(matrices, %s, %v, HG_PTX_LINE);", at, turned)
	return i.fill(code, to, ptype{'b', 32}, "matrices")
}

func copyAsync(i instruction) (string, error) {
	switch name := strings.Join(i.name, "."); {
	case name == "cp.async.commit_group" && len(i.args) == 0:
		return "hg_emu::copy_commit();", nil
	case name == "cp.async.wait_group" && len(i.args) == 1 && integer.MatchString(i.args[0]):
		return fmt.Sprintf("copy_wait(%s, HG_PTX_LINE);", i.args[0]), nil
	case (name == "cp.async.cg.shared.global" || name == "cp.async.ca.shared.global") && len(i.args) == 4:
		if name == "cp.async.cg.shared.global" && i.args[2] != "16" {
			return "", fmt.Errorf("cp.async.cg copies 16 bytes")
		}
		to, err := i.place(i.args[0])
		if err != nil {
			return "", err
		}
		from, err := i.place(i.args[1])
		if err != nil {
			return "", err
		}
		v, err := i.values(ptype{'u', 32}, i.args[2:]...)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("copy_async(%s, %s, %s, %s, HG_PTX_LINE);", to, from, v[0], v[1]), nil
	}
	return "", fmt.Errorf("unsupported copy")
}
