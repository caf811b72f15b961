package ptx

import (
	"fmt"
	"slices"
	"strings"
)

// access returns the space of a load or store (global, shared, param or generic), the number of
// its elements and their type.
func (i instruction) access() (space string, n int, t ptype) {
	space, n = "generic", 1
	for _, mod := range i.name[1 : len(i.name)-1] {
		switch mod {
		case "global", "shared", "param":
			space = mod
		case "v2", "v4":
			n = int(mod[1] - '0')
		default:
			i.refuse("unsupported modifier .%s", mod)
		}
	}
	return space, n, i.last()
}

// load reads all elements before it writes a register, which the address may use.
func load(i instruction) string {
	space, n, t := i.access()
	to := elements(i.args[0])
	if len(to) != n {
		return i.refuse("%d registers for %d elements", len(to), n)
	}
	code := fmt.Sprintf("{ auto v = load_%s<%s, %d>(%s, HG_PTX_LINE);", space, t.ctype(), n, i.place(i.args[1]))
	return i.fill(code, to, t, "v.of")
}

func store(i instruction) string {
	space, n, t := i.access()
	v := i.values(t, elements(i.args[1])...)
	switch {
	case space == "param":
		return i.refuse("unsupported store to a parameter")
	case len(v) != n:
		return i.refuse("%d registers for %d elements", len(v), n)
	}
	return fmt.Sprintf("{ Several<%s, %d> v = {{%s}}; store_%s(%s, v, HG_PTX_LINE); }", t.ctype(), n,
		strings.Join(v, ", "), space, i.place(i.args[0]))
}

func atomic(i instruction) string {
	t := i.last()
	if t.bits < 32 || t.class == 'f' {
		return i.refuse("unsupported type of an atomic")
	}
	space := "generic"
	if len(i.name) == 4 && slices.Contains([]string{"shared", "global"}, i.name[1]) {
		space = i.name[1]
	} else if len(i.name) != 3 {
		return i.refuse("unsupported atomic")
	}
	operation := i.name[len(i.name)-2]
	if !slices.Contains([]string{"add", "or", "min", "max", "exch"}, operation) {
		return i.refuse("unsupported atomic")
	}
	return i.assign(i.args[0], t, fmt.Sprintf("atomic_%s<%s>(%s_pointer, %s, %s, HG_PTX_LINE)", operation, t.ctype(),
		space, i.place(i.args[1]), i.value(i.args[2], t)))
}

func barrier(i instruction) string {
	switch name := strings.Join(i.name, "."); {
	case name == "bar.sync" && i.args[0] == "0":
		return "hg_emu::barrier();"
	case name == "bar.warp.sync":
		return fmt.Sprintf("hg_emu::warp(%s, hg_emu::vote_sync, 0, 0);", i.value(i.args[0], ptype{'u', 32}))
	}
	return i.refuse("unsupported barrier")
}

func shuffle(i instruction) string {
	if len(i.name) != 4 || i.name[1] != "sync" || i.name[3] != "b32" || strings.Contains(i.args[0], "|") {
		return i.refuse("unsupported shuffle")
	}
	b32 := ptype{'b', 32}
	v := strings.Join(i.values(b32, i.args[1:]...), ", ")
	return i.assign(i.args[0], b32, fmt.Sprintf("shuffle_%s(%s)", i.name[2], v))
}

func vote(i instruction) string {
	pred := ptype{'p', 1}
	mask := i.value(i.args[2], ptype{'u', 32})
	ballot := fmt.Sprintf("(u32)hg_emu::warp(%s, hg_emu::vote_ballot, %s, 0)", mask, i.value(i.args[1], pred))
	switch strings.Join(i.name[1:], ".") {
	case "sync.all.pred":
		return i.assign(i.args[0], pred, ballot+" == "+mask)
	case "sync.any.pred":
		return i.assign(i.args[0], pred, ballot+" != 0")
	case "sync.ballot.b32":
		return i.assign(i.args[0], ptype{'b', 32}, ballot)
	}
	return i.refuse("unsupported vote")
}

// matrix is mma.
func matrix(i instruction) string {
	if strings.Join(i.name, ".") != "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32" {
		return i.refuse("unsupported mma")
	}
	f32, b32 := ptype{'f', 32}, ptype{'b', 32}
	to, c := elements(i.args[0]), i.values(f32, elements(i.args[3])...)
	a, b := i.values(b32, elements(i.args[1])...), i.values(b32, elements(i.args[2])...)
	if len(to) != 4 || len(c) != 4 || len(a) != 4 || len(b) != 2 {
		return i.refuse("fragments of another size")
	}
	code := fmt.Sprintf("{ float d[4] = {%s}; u32 a[4] = {%s}, b[2] = {%s}; hg_emu::mma(d, a, b);", strings.Join(c, ", "),
		strings.Join(a, ", "), strings.Join(b, ", "))
	return i.fill(code, to, f32, "d")
}

// fill ends a block of code with assignments of an array's elements.
func (i instruction) fill(code string, to []string, t ptype, array string) string {
	for j, register := range to {
		code += " " + i.assign(register, t, fmt.Sprintf("%s[%d]", array, j))
	}
	return code + " }"
}

func loadMatrix(i instruction) string {
	name := strings.Join(i.name, ".")
	turned := name == "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"
	to := elements(i.args[0])
	if !turned && name != "ldmatrix.sync.aligned.m8n8.x4.shared.b16" || len(to) != 4 {
		return i.refuse("unsupported ldmatrix")
	}
	code := fmt.Sprintf("{ u32 matrices[4]; load_matrix(matrices, %s, %v, HG_PTX_LINE);", i.place(i.args[1]), turned)
	return i.fill(code, to, ptype{'b', 32}, "matrices")
}

func copyAsync(i instruction) string {
	switch name := strings.Join(i.name, "."); {
	case name == "cp.async.commit_group" && len(i.args) == 0:
		return "hg_emu::copy_commit();"
	case name == "cp.async.wait_group" && len(i.args) == 1 && integer.MatchString(i.args[0]):
		return fmt.Sprintf("copy_wait(%s, HG_PTX_LINE);", i.args[0])
	case (name == "cp.async.cg.shared.global" || name == "cp.async.ca.shared.global") && len(i.args) == 4:
		if name == "cp.async.cg.shared.global" && i.args[2] != "16" {
			return i.refuse("cp.async.cg copies 16 bytes")
		}
		v := i.values(ptype{'u', 32}, i.args[2:]...)
		return fmt.Sprintf("copy_async(%s, %s, %s, %s, HG_PTX_LINE);", i.place(i.args[0]), i.place(i.args[1]), v[0], v[1])
	}
	return i.refuse("unsupported copy")
}
