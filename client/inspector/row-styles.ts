/** The style sheet of what row-part.ts shows. */
export const ROW_STYLES = `
.row { position: relative; display: grid; gap: 6px; grid-template-columns: minmax(0, 1fr); padding: 10px 12px 12px 15px; border: 1px solid var(--_line); border-radius: 9px; background: var(--_raised); overflow: clip }
.row::before { content: ""; position: absolute; inset: 0 auto 0 0; width: 4px; background: var(--_tone) }
.row-head { display: flex; align-items: center; gap: 8px }
h4 { flex: 1; min-width: 0 }
.toggle { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: 7px; width: 100%; min-height: 32px; padding: 2px 4px; margin-inline-start: -4px; border: 0; background: none; font-size: 1em; text-align: start }
.toggle > span { display: flex; flex-wrap: wrap; gap: 0 9px; align-items: baseline; overflow-wrap: anywhere }
.toggle b { font-weight: 650 }
.toggle code { font-weight: 400; color: var(--_soft) }
.toggle:hover b { text-decoration: underline; text-underline-offset: 3px }
.toggle[aria-expanded=true] .icon { rotate: 90deg }
.badge { display: inline-flex; align-items: center; gap: 5px; padding: 2px 9px 2px 7px; border-radius: 99px; font-size: .82em; font-weight: 650; white-space: nowrap; color: var(--_tone); background: color-mix(in srgb, var(--_tone) 12%, var(--_surface)) }
.links { display: flex; flex-wrap: wrap; align-items: center; gap: 3px 7px; font-size: .92em }
.links .icon { color: var(--_soft) }
.link { display: inline; min-height: 24px; padding: 0 2px; border: 0; background: none; color: var(--_accent); font-size: 1em; text-decoration: underline; text-underline-offset: 3px; text-align: start }
.danger { color: var(--_blocked) }
.danger.solid { background: var(--_blocked); color: var(--_surface) }
h5 { font-size: .8em; font-weight: 700; color: var(--_soft) }
.row .buttons { margin-top: 2px }
.ask { display: grid; grid-template-columns: repeat(2, auto); justify-content: start; align-items: center; gap: 8px; padding: 12px; border-radius: 9px; background: var(--_sunken) }
.ask > :is(p, label, textarea, input) { grid-column: 1 / -1 }
form.ask { grid-template-columns: auto minmax(0, 1fr); justify-content: stretch }
form.ask button { justify-self: start }
label { font-size: .9em; font-weight: 600 }
textarea { width: 100%; padding: 9px 11px; resize: vertical }
.problem { color: var(--_blocked); font-size: .92em }
.detail { display: grid; gap: 12px; grid-template-columns: minmax(0, 1fr); justify-items: start; margin-top: 4px; padding-top: 12px; border-top: 1px solid var(--_line) }
.explained { display: grid; gap: 16px 28px; width: 100%; grid-template-columns: minmax(0, 1fr) }
.explained section { display: grid; gap: 6px; align-content: start }
pre { width: 100%; max-height: 300px; overflow: auto; padding: 11px; border-radius: 9px; background: var(--_sunken); white-space: pre-wrap }
.attempts { display: grid; gap: 7px }
.attempts li { display: flex; flex-wrap: wrap; gap: 1px 9px; align-items: baseline }
.attempts b { font-weight: 600 }
.attempts code { margin-inline-start: 7px }
@container (width < 480px) {
  .row-head { align-items: start }
  .badge { margin-top: 4px }
}
@container (width >= 640px) {
  .explained { grid-template-columns: repeat(2, minmax(0, 1fr)) }
}
@media (prefers-reduced-motion: no-preference) {
  .toggle .icon { transition: rotate .15s }
}
@media (forced-colors: active) {
  .badge { border: 1px solid }
  .row::before { background: CanvasText }
}
`;
