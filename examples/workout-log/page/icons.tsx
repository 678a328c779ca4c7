/** Line icons, decorative: the words beside them say the same. */
import type { JSX } from 'preact';

const PATHS = {
  plus: 'M12 5v14M5 12h14',
  pencil: 'M4 20h4L19 9l-4-4L4 16zM13.5 6.5l4 4',
  trash: 'M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13M10 11v5M14 11v5',
  check: 'M5 12.5l4.5 4.5L19 7.5',
  cloudOff: 'M4 4l16 16M8 8.2A4.5 4.5 0 0 0 7 17h10M19.5 15.5A4 4 0 0 0 17 9h-.6A6 6 0 0 0 11 5.2',
  cloud: 'M7 18a4.5 4.5 0 0 1-.4-9A6 6 0 0 1 18 8.6 4.7 4.7 0 0 1 17.5 18z',
  clock: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18M12 7v5l3.5 2',
  send: 'M12 19V5M6 11l6-6 6 6',
  lock: 'M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 0 1 7 0v3',
  alert: 'M12 4l9 16H3zM12 10v4.5M12 17.2v.3',
  pause: 'M9 5v14M15 5v14',
  play: 'M8 5l11 7-11 7z',
  left: 'M14.5 5.5L8 12l6.5 6.5',
  right: 'M9.5 5.5L16 12l-6.5 6.5',
  flask: 'M9 3h6M10 3v6L4.8 18.4A1.8 1.8 0 0 0 6.4 21h11.2a1.8 1.8 0 0 0 1.6-2.6L14 9V3M7.5 15h9',
  flag: 'M6 21V4M6 4h11l-2.5 4L17 12H6',
  list: 'M8 6h12M8 12h12M8 18h12M4 6h.1M4 12h.1M4 18h.1',
  stack: 'M12 4l9 4.5-9 4.5-9-4.5zM3.5 13L12 17.5 20.5 13M3.5 17L12 21.5l8.5-4.5',
  gauge: 'M4.5 18a8.5 8.5 0 1 1 15 0M12 14l4-5M12 14.4v-.4',
  camera: 'M4 8h3.5L9 5.5h6L16.5 8H20v11H4zM12 16.5a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7',
  close: 'M6 6l12 12M18 6L6 18',
  person: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8M4.5 20.5a7.5 7.5 0 0 1 15 0',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { readonly name: IconName }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}

export function Mark(): JSX.Element {
  return (
    <svg class="mark" viewBox="48 120 416 272" aria-hidden="true" focusable="false">
      <g fill="currentColor">
        <rect x="96" y="164" width="52" height="184" rx="20" />
        <rect x="364" y="164" width="52" height="184" rx="20" />
        <rect x="56" y="204" width="28" height="104" rx="14" />
        <rect x="428" y="204" width="28" height="104" rx="14" />
      </g>
      <path class="mark-line" d="M148 256h66l28 46 64-96 22 50h36" />
    </svg>
  );
}
