/** The inspector's style sheet, adopted by its shadow root: no inline style, so a strict policy lets it be. */
export const STYLES = `
:host {
  --_surface: var(--holdfast-surface, light-dark(#fff, #14181d));
  --_raised: var(--holdfast-raised, light-dark(#fff, #1b2027));
  --_sunken: var(--holdfast-sunken, light-dark(#f3f5f7, #0f1216));
  --_line: var(--holdfast-line, light-dark(#dde2e8, #2b323b));
  --_strong: var(--holdfast-line-strong, light-dark(#848d98, #6c7682));
  --_ink: var(--holdfast-ink, light-dark(#161b22, #eceff3));
  --_soft: var(--holdfast-ink-soft, light-dark(#57606b, #a2acb8));
  --_accent: var(--holdfast-accent, light-dark(#0b63ce, #7fb4ff));
  --_good: var(--holdfast-good, light-dark(#0f7a45, #45d68a));
  --_queued: var(--holdfast-queued, light-dark(#8a5a00, #f2b84b));
  --_sending: var(--holdfast-sending, light-dark(#1b5fc4, #7db2ff));
  --_held: var(--holdfast-held, light-dark(#6a3fb5, #bda0ff));
  --_blocked: var(--holdfast-blocked, light-dark(#b3261e, #ff8f86));
  --_radius: var(--holdfast-radius, 12px);
  --_mono: var(--holdfast-mono, ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, monospace);
  color-scheme: light dark;
  container-type: inline-size;
  display: block;
  color: var(--_ink);
  font: 15px/1.45 var(--holdfast-font, system-ui, sans-serif);
  font-variant-numeric: tabular-nums;
  text-align: start;
  -webkit-text-size-adjust: 100%;
}
:host([hidden]) { display: none }
:host([theme=light]) { color-scheme: light }
:host([theme=dark]) { color-scheme: dark }
*, ::before, ::after { box-sizing: border-box }
h2, h3, h4, h5, p, ul, ol, dl, dd, figure, pre { margin: 0; padding: 0; font: inherit }
ul, ol { list-style: none }
:focus-visible { outline: 3px solid var(--_accent); outline-offset: 2px }
:focus:not(:focus-visible) { outline: none }
code, pre, textarea { font: .92em/1.5 var(--_mono); overflow-wrap: anywhere }
.soft { color: var(--_soft); font-size: .9em }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap }
.alert:not(:empty) { padding: 10px 14px; margin-bottom: 12px; border: 1px solid; border-radius: var(--_radius); color: var(--_blocked); background: color-mix(in srgb, var(--_blocked) 10%, var(--_surface)) }
.icon { width: 1.15em; height: 1.15em; flex: none; fill: none; stroke: currentColor; stroke-width: 2; stroke-linecap: round; stroke-linejoin: round }

button, input, select, textarea { font: inherit; color: inherit; min-width: 0 }
button { display: inline-flex; align-items: center; justify-content: center; gap: 7px; min-height: 36px; padding: 0 13px; border: 1px solid var(--_line); border-radius: 9px; background: var(--_raised); font-size: .92em; font-weight: 600; cursor: pointer }
button:hover { border-color: var(--_strong) }
button[aria-disabled] { opacity: .5; cursor: default; border-color: var(--_line) }
.solid { border-color: transparent; background: var(--_ink); color: var(--_surface) }
.quiet { color: var(--_soft) }
.buttons { display: flex; flex-wrap: wrap; gap: 8px }
input, select, textarea { min-height: 38px; padding: 0 11px; border: 1px solid var(--_strong); border-radius: 9px; background: var(--_raised) }
::placeholder { color: var(--_soft); opacity: 1 }
h3 { font-size: .8em; font-weight: 700; letter-spacing: .06em; text-transform: uppercase; color: var(--_soft) }

header { position: relative; overflow: clip; --_tone: var(--_queued); display: grid; grid-template-columns: auto minmax(0, 1fr); gap: 12px 14px; align-items: start; padding: 16px; border-radius: var(--_radius); background: color-mix(in srgb, var(--_tone) 9%, var(--_surface)); border: 1px solid color-mix(in srgb, var(--_tone) 28%, var(--_surface)) }
[data-tone=good] { --_tone: var(--_good) }
[data-tone=busy] { --_tone: var(--_sending) }
[data-tone=held] { --_tone: var(--_held) }
[data-tone=bad] { --_tone: var(--_blocked) }
.sign { display: grid; place-items: center; width: 44px; height: 44px; border-radius: 50%; background: var(--_tone); color: var(--_surface); font-size: 20px }
.verdict { display: grid; gap: 2px }
h2 { font-size: .86em; color: var(--_soft); overflow-wrap: anywhere }
h2 + p { font-size: 1.28em; font-weight: 700; letter-spacing: -.01em; line-height: 1.25 }
header .buttons { grid-column: 1 / -1 }
progress { position: absolute; inset: auto 0 0; width: 100%; height: 5px; border: 0; appearance: none; background: color-mix(in srgb, var(--_tone) 18%, var(--_surface)) }
progress::-webkit-progress-bar { background: none }
progress::-webkit-progress-value { background: var(--_tone) }
progress::-moz-progress-bar { background: var(--_tone) }

.body, .main, .side { display: grid; gap: 12px; grid-template-columns: minmax(0, 1fr); align-content: start }
.body { margin-top: 12px }
.panel { display: grid; gap: 10px; grid-template-columns: minmax(0, 1fr); align-content: start; justify-items: start; padding: 13px; border: 1px solid var(--_line); border-radius: var(--_radius); background: var(--_surface) }


.panel > :not(button) { justify-self: stretch }
.tabs { display: grid; grid-template-columns: repeat(3, minmax(0, 1fr)); gap: 6px }
.tab { display: grid; place-content: start; gap: 1px; padding: 8px 11px; line-height: 1.2; font-weight: 500; text-align: start }
.tab span { color: var(--_soft); font-size: .9em }
.tab b { font-size: 1.3em }
[data-state] { --_tone: var(--_queued) }
[data-state=sending] { --_tone: var(--_sending) }
[data-state=held] { --_tone: var(--_held) }
[data-state=blocked] { --_tone: var(--_blocked) }
.tab[data-state] b { color: var(--_tone) }
.tab[aria-pressed=true] { border-color: var(--_ink); box-shadow: inset 0 0 0 1px var(--_ink) }
.find { display: flex; flex-wrap: wrap; gap: 8px }
.find input { flex: 1 1 190px }
.find select { flex: 0 1 auto }
.empty { padding: 22px; border: 1.5px dashed var(--_line); border-radius: 9px; text-align: center; color: var(--_soft) }
.list { display: grid; grid-template-columns: minmax(0, 1fr); gap: 8px }
dl { display: grid; gap: 5px }
dl > div { display: grid; grid-template-columns: minmax(90px, 2fr) 3fr; gap: 10px; align-items: baseline }
dt { color: var(--_soft); font-size: .92em }
dd { overflow-wrap: anywhere }
.pages { display: flex; align-items: center; justify-content: center; gap: 12px; font-size: .92em }
.pages button { width: 40px; padding: 0 }

.lamps { display: grid; gap: 9px }
.lamps li { display: grid; grid-template-columns: auto 1fr; gap: 0 9px; align-items: baseline }
.lamps li::before { content: ""; width: 9px; height: 9px; border-radius: 50%; border: 2px solid var(--_strong) }
.lamps [data-on=true]::before { border-color: var(--_good); background: var(--_good) }
.lamps .soft { grid-column: 2 }
.outcomes { display: grid; gap: 9px }
.outcomes li { display: grid; grid-template-columns: 1fr auto; gap: 0 10px; align-items: baseline }
.outcomes li > :last-child { grid-column: 1 / -1; color: var(--_soft); font-size: .9em; overflow-wrap: anywhere }
.outcomes b { font-weight: 600 }
[data-type=committed] b { color: var(--_good) }
[data-type=blocked] b, [data-type=unknown] b { color: var(--_blocked) }

@container (width >= 480px) {
  .panel { padding: 16px }
  .tabs { grid-template-columns: repeat(5, minmax(0, 1fr)) }
}
@container (width >= 640px) {
  header { grid-template-columns: auto minmax(0, 1fr) auto; align-items: center; padding: 18px 20px }
  header .buttons { grid-column: auto }
  .side { grid-template-columns: repeat(2, minmax(0, 1fr)) }
}
@container (width >= 940px) {
  .body { grid-template-columns: minmax(0, 1fr) 308px }
  .side { grid-template-columns: minmax(0, 1fr) }
}
@media (prefers-reduced-motion: no-preference) {
  progress::-webkit-progress-value { transition: width .2s }
}
@media (forced-colors: active) {
  .sign { border: 1px solid }
  .tab[aria-pressed=true] { outline: 2px solid Highlight }
  .lamps [data-on=true]::before { background: Highlight; border-color: Highlight; forced-color-adjust: none }
  button[aria-disabled] { opacity: 1; color: GrayText }
}
`;
