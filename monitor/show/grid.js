// A table of rows in a box that scrolls: what stands in view is told, arrows move, Enter opens, boxes choose several.
const WAIT_MS = 250
const PAGE = 12
const REMOUNT_MS = 10_000
const grids = new WeakMap()
// What is chosen, by the table's name: where the page around it changes, one table is put on before the other is taken off.
const choices = (globalThis.trainwatchChoices ??= new Map())

export default function (component) {
  const { data, parentElement } = component
  let grid = grids.get(parentElement)
  if (!grid) grids.set(parentElement, (grid = made(parentElement)))
  grid.send = component
  drawn(grid, data)
  return () => {
    grid.sizes.disconnect()
    clearTimeout(grid.timer)
    grids.delete(parentElement)
    grid.choice.grids.delete(grid)
    grid.choice.leftAt = Date.now()
  }
}

function made(parent) {
  const root = parent.querySelector(".grid")
  const [box, head, lines, style] = [".box", ".head", ".lines", "style"].map(part => root.querySelector(part))
  const grid = { root, box, head, lines, style, rows: new Map(), active: null, told: "", columns: "", timer: 0, top: 0, atEnd: true, choice: null }
  // Rows that come into view get their true height only then.
  grid.sizes = new ResizeObserver(() => { fitted(grid); ended(grid); tell(grid) })
  grid.sizes.observe(box)
  grid.sizes.observe(lines)
  box.onscroll = () => {
    const isUp = box.scrollTop < grid.top - 1
    grid.atEnd = box.scrollHeight - box.scrollTop - box.clientHeight < 4 || (grid.atEnd && !isUp)
    grid.top = box.scrollTop
    if (grid.top > 0 && !grid.data.ends_in_view) used(grid)
    tell(grid)
  }
  box.addEventListener("focusin", event => {
    const key = event.target.closest(".row")?.dataset.key
    if (key === undefined) return
    activated(grid, key)
    used(grid)
  })
  box.onkeydown = event => pressed(grid, event)
  box.onclick = event => clicked(grid, event)
  return grid
}

function drawn(grid, data) {
  grid.data = data
  // Rows that were chosen since the page was asked for are not in its answer: the hand knows better.
  grid.choice ??= joined(grid, data)
  grid.box.setAttribute("aria-label", data.alt)
  grid.box.setAttribute("aria-multiselectable", String(data.several))
  grid.box.setAttribute("aria-rowcount", String(data.rows.length + 1))
  grid.box.style.maxHeight = `${data.height_px}px`
  grid.box.classList.toggle("tight", data.tight)
  headed(grid, data)
  const focused = grid.root.getRootNode().activeElement
  const kept = new Map()
  let before = null
  for (const row of data.rows) {
    const known = grid.rows.get(row.key)
    const said = JSON.stringify(row)
    const line = known?.line ?? element("div", "row", { role: "row", tabindex: "-1" })
    if (known?.said !== said) filled(grid, line, row)
    const place = before ? before.nextSibling : grid.lines.firstChild
    if (place !== line) grid.lines.insertBefore(line, place)
    before = line
    kept.set(row.key, { line, said })
  }
  for (const [key, { line }] of grid.rows) if (!kept.has(key)) line.remove()
  grid.rows = kept
  if (!kept.has(grid.active)) grid.active = null
  const first = grid.active ?? data.looked_at ?? data.rows[0]?.key
  for (const [key, { line }] of kept) {
    line.tabIndex = key === first ? 0 : -1
    line.classList.toggle("here", key === data.looked_at)
  }
  // A row that was moved has lost the focus.
  if (focused?.classList?.contains("row") && focused.isConnected) focused.focus({ preventScroll: true })
  ticked(grid)
  fitted(grid)
  ended(grid)
  if (data.looked_at && data.looked_at !== grid.shown) kept.get(data.looked_at)?.line.scrollIntoView({ block: "nearest" })
  grid.shown = data.looked_at
  tell(grid)
}

function joined(grid, data) {
  let choice = choices.get(data.name)
  if (!choice || (!choice.grids.size && Date.now() - choice.leftAt > REMOUNT_MS)) {
    choices.set(data.name, (choice = { chosen: data.chosen, grids: new Set() }))
  }
  choice.grids.add(grid)
  // The page may have forgotten it together with the table before.
  if (String(choice.chosen) !== String(data.chosen)) grid.send.setStateValue("chosen", choice.chosen)
  return choice
}

function headed(grid, data) {
  const said = JSON.stringify([data.columns, data.sorted, data.several])
  if (said === grid.columns) return
  grid.columns = said
  const cells = data.columns.map(column => {
    const sorted = data.sorted?.[0] === column.name ? data.sorted[1] : null
    const cell = element("div", `cell k-${column.kind}`, { role: "columnheader", title: column.help || column.label })
    if (sorted) cell.setAttribute("aria-sort", sorted)
    if (!data.sorts || !column.label) return cell.append(column.label), cell
    const button = element("button", "", { type: "button" })
    button.append(column.label, sorted === "descending" ? " ↓" : sorted === "ascending" ? " ↑" : "")
    button.onclick = () => grid.send.setTriggerValue("sorted", column.name)
    return cell.append(button), cell
  })
  if (data.several) cells.unshift(element("div", "cell tick", { role: "columnheader", title: "Choose jobs to compare" }))
  grid.head.replaceChildren(...cells)
}

function filled(grid, line, row) {
  line.className = `row ${row.tone}`
  line.dataset.key = row.key
  const cells = row.cells.map((value, place) => {
    const { kind } = grid.data.columns[place]
    const cell = element("div", `cell k-${kind}`, { role: "gridcell" })
    if (value === null) cell.append("–")
    else if (kind === "name") cell.append(named(value, row.href))
    else if (kind === "badge") value && cell.append(badge(value))
    else if (kind === "course") cell.append(value[0] ?? "–", ...(value[1] ? [element("img", "", { src: value[1], alt: "" })] : []))
    else if (kind === "number" && Array.isArray(value)) cell.append(value[0]), cell.setAttribute("aria-label", cell.title = value[1])
    else cell.append(value)
    if (kind !== "course" && kind !== "badge" && value && !cell.title) cell.title = value
    return cell
  })
  // The box stays: a click that began on it ends on it.
  if (grid.data.several) cells.unshift(line.querySelector(".tick") ?? tick(row.key))
  // What is in its place is left there: taken off for a moment, it would lose a click that is under way.
  const [first] = line.children
  if (first && first === cells[0]) {
    while (first.nextSibling) first.nextSibling.remove()
    line.append(...cells.slice(1))
  } else line.replaceChildren(...cells)
}

function tick(key) {
  const cell = element("div", "cell tick", { role: "gridcell" })
  cell.append(element("input", "", { type: "checkbox", tabindex: "-1", "aria-label": `Choose ${key}` }))
  return cell
}

// Names of runs differ at their ends: the middle gives way.
function named(name, href) {
  const link = href ? element("a", "ends", { href, tabindex: "-1" }) : element("span", "ends", {})
  const tail = Math.min(name.length, 12)
  const parts = [name.slice(0, name.length - tail), name.slice(name.length - tail)]
  link.append(...parts.map(part => Object.assign(element("span", "", {}), { textContent: part })))
  return link
}

function badge([word, colour]) {
  const found = element("span", `badge ${colour}`, {})
  found.textContent = word
  return found
}

function ticked(grid) {
  const chosen = new Set(grid.choice.chosen)
  for (const [key, { line }] of grid.rows) {
    const box = line.querySelector("input")
    if (box) box.checked = chosen.has(key)
    if (grid.data.several) line.setAttribute("aria-selected", String(chosen.has(key)))
  }
}

// Columns that have no room leave; what matters most has the least need of it.
function fitted(grid) {
  const width = grid.box.clientWidth
  if (!width || !grid.data) return
  const lead = grid.data.several ? 1 : 0
  const shown = grid.data.columns.map(column => column.room_px <= width)
  const widths = grid.data.columns.filter((_, place) => shown[place]).map(column => column.width)
  const gone = shown.flatMap((is, place) => (is ? [] : [`.cell:nth-child(${place + lead + 1})`]))
  const text = `.row,.head{grid-template-columns:${lead ? "30px " : ""}${widths.join(" ")}}` + (gone.length ? `${gone.join()}{display:none}` : "")
  if (grid.style.textContent !== text) grid.style.textContent = text
}

function ended(grid) {
  if (grid.data?.ends_in_view && grid.atEnd) grid.box.scrollTop = grid.box.scrollHeight
}

// Rows are not to change places under a hand or an eye.
function used(grid) {
  if (!grid.data.tells || grid.used === grid.data.about) return
  grid.used = grid.data.about
  grid.send.setStateValue("used", grid.used)
}

function tell(grid) {
  if (!grid.data?.tells) return
  clearTimeout(grid.timer)
  grid.timer = setTimeout(() => {
    const { top, bottom } = grid.box.getBoundingClientRect()
    const seen = []
    for (const [key, { line }] of grid.rows) {
      const place = line.getBoundingClientRect()
      if (place.bottom > top && place.top < bottom) seen.push(key)
    }
    const said = JSON.stringify(seen)
    if (!seen.length || said === grid.told) return
    grid.told = said
    grid.send.setStateValue("seen", seen)
  }, WAIT_MS)
}

function pressed(grid, event) {
  if (event.target.tagName === "BUTTON" || event.ctrlKey || event.metaKey || event.altKey) return
  const keys = [...grid.rows.keys()]
  const place = keys.indexOf(grid.active)
  // Before a row has the focus, the first arrow leads to the first one.
  const to = { ArrowDown: place + 1, ArrowUp: place - 1, PageDown: place + PAGE, PageUp: place - PAGE, Home: 0, End: keys.length - 1 }
  if (event.key in to) moved(grid, keys[Math.min(Math.max(to[event.key], 0), keys.length - 1)])
  else if (event.key === "Enter" && place >= 0) grid.send.setTriggerValue("opened", grid.active)
  else if (event.key === " " && grid.data.several && place >= 0) chose(grid, grid.active)
  else return
  event.preventDefault()
}

function moved(grid, key) {
  const { line } = grid.rows.get(key)
  activated(grid, key)
  line.focus({ preventScroll: true })
  line.scrollIntoView({ block: "nearest" })
}

function activated(grid, key) {
  for (const { line } of grid.rows.values()) if (line.tabIndex === 0) line.tabIndex = -1
  grid.active = key
  grid.rows.get(key).line.tabIndex = 0
}

function clicked(grid, event) {
  const key = event.target.closest(".row")?.dataset.key
  if (key === undefined) return
  if (event.target.closest(".tick")) {
    event.preventDefault()
    activated(grid, key)
    return chose(grid, key)
  }
  // The browser's own way to another tab.
  if (event.ctrlKey || event.metaKey || event.shiftKey) return
  event.preventDefault()
  // A click that ends a drag over text was meant for the text.
  if (String(grid.root.getRootNode().getSelection?.() ?? "")) return
  moved(grid, key)
  grid.send.setTriggerValue("opened", key)
}

function chose(grid, key) {
  const { choice } = grid
  choice.chosen = choice.chosen.includes(key) ? choice.chosen.filter(one => one !== key) : [...choice.chosen, key]
  // After the click has set the box its own way.
  setTimeout(() => choice.grids.forEach(ticked))
  grid.send.setStateValue("chosen", choice.chosen)
}

function element(tag, className, attributes) {
  const found = document.createElement(tag)
  if (className) found.className = className
  for (const [name, value] of Object.entries(attributes)) found.setAttribute(name, value)
  return found
}
